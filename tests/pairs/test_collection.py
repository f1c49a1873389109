"""Collections of key-value data: what a file says, and what a user may hold."""

import json

import numpy as np
import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.errors import DataError
from stream_ldp.pairs.collection import PairsCollection
from tests.pairs.examples import collection_of


def test_users_hold_any_keys_or_none() -> None:
    collection = collection_of()
    table = collection.table([collection.encode(each) for each in ({"maps": 4}, {}, {"search": "70", "maps": ""})])
    assert np.isnan(table["0"]).tolist() == [True, True, False]
    assert table["0"][2] == 60.0
    assert table["1"][0] == 4.0
    assert np.isnan(table["1"][1:]).all()


def test_an_unknown_key_is_refused_and_not_repeated() -> None:
    with pytest.raises(DataError, match=r"^a key of the record is none of collection 'features'\n  -> write keys as"):
        collection_of().encode({"serch": 1})
    with pytest.raises(DataError, match="a record is a mapping"):
        collection_of().encode([("search", 1), ("search", 2)])  # type: ignore[arg-type]


def test_the_meaning_has_all_that_a_report_depends_on() -> None:
    meaning = json.loads(collection_of().meaning)
    assert meaning[:4] == [
        "features",
        "pairs",
        [["search", 0.0, 60.0], ["maps", 0.0, 10.0], ["photos", -1.0, 1.0]],
        2,
    ]
    others = ["epsilon: 1, padding: 2", "epsilon: 2, padding: 1", "epsilon: 2, padding: 2, oracle: oue"]
    assert len({collection_of(each).fingerprint for each in ("epsilon: 2, padding: 2", *others)}) == 4


def test_padding_is_at_most_the_number_of_keys() -> None:
    assert collection_of("epsilon: 2").padding == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0, 60]", "[60, 60]", "the smaller one first; got [60, 60]"),
        ("[0, 60]", "[0, .nan]", "keys"),
        ("[0, 60], ", "", "3 keys and 2 ranges"),
        ("search, maps", "maps, maps", "'maps' is given twice"),
        ("padding: 2", "padding: 4", "nobody holds 4 of 3 keys"),
        ("padding: 2", "padding: 0", "greater than or equal to 1"),
        ("epsilon: 2", "epsilon: 50", "beyond the resolution"),
        ("ranges: ", "range: [0, 1], ranges: ", "give either"),
        ("epsilon: 2", "epsilon: 2, oracle: pckv", "expected"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(old: str, new: str, message: str) -> None:
    text = collection_of_text().replace(old, new, 1)
    with pytest.raises(CollectionError) as raised:
        PairsCollection.parse(text)
    assert message in str(raised.value)


def collection_of_text() -> str:
    return """
collection: features
mechanism: {kind: pairs, epsilon: 2, padding: 2}
keys: {names: [search, maps, photos], ranges: [[0, 60], [0, 10], [-1, 1]]}
window: {size: 10s}
"""


def test_whose_numbers_are_refused_is_said_of_keys_as_of_attributes() -> None:
    assert collection_of().refused[0] == "search: any other text"
    assert collection_of(keys=", clip: false").refused[0] == ("search: any other text, or a number beyond its range")


def test_a_misspelt_key_in_one_of_many_records_is_refused() -> None:
    with pytest.raises(DataError, match=r"^row 2: a key of the record is none of collection 'features'\n  -> "):
        collection_of().users([{"search": 5}, {"serch": 5}])
    assert len(collection_of().users([{"search": 5}, {"maps": 5}, {}])) == 3
