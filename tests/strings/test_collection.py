"""Collections of strings: their fingerprints, and their records."""

import json

import numpy as np
import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.errors import DataError
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.strings.collection import METHODS
from stream_ldp.strings.kind import STRINGS
from tests.strings.examples import TEXT, collection_of


def test_the_kind_is_reported_by_the_mechanism() -> None:
    text = TEXT.format(mechanism="epsilon: 2", string="length: 3", window="", more="")
    assert kind_of(parse_collection(text)) is STRINGS


def test_the_fingerprint_says_all_that_a_report_means() -> None:
    collection = collection_of("epsilon: 2")
    assert json.loads(json.dumps(collection._meaning)) == [
        "words",
        "strings",
        "pem",
        ["word", "abcdefghijklmnopqrstuvwxyz", 6],
        [["direct", [8, 0, 2205548027]]],
        [2, 4, 6],
        [529_516_516, 2_000_395_727, 2**32],  # 9 users of 73, then 25, then 39
    ]
    assert collection_of("epsilon: 2", "length: 7").fingerprint != collection_of("epsilon: 2").fingerprint
    assert collection_of("epsilon: 2", window=", memory: 0.5").fingerprint == collection.fingerprint


def test_a_record_is_the_string_under_its_name() -> None:
    collection = collection_of()
    assert collection.encode({"word": "cab"}) == (3, 1, 2, 0, 0, 0)
    with pytest.raises(DataError, match="attribute 'word' is missing"):
        collection.encode({})
    with pytest.raises(DataError, match="'wort' is not an attribute of collection 'words'"):
        collection.encode({"wort": "cab"})


def test_a_table_has_a_string_a_row() -> None:
    collection = collection_of()
    table = collection.table([collection.encode({"word": "cab"})] * 2)
    assert table.shape == (2, 6)
    assert np.array_equal(collection.table(table), table)
    assert collection.table([]).shape == (0, 6)


def test_k_changes_nothing_for_clients_and_epsilon_does() -> None:
    assert collection_of("epsilon: 2").mechanism_spec.k == 32
    assert collection_of("epsilon: 2, k: 5").fingerprint == collection_of("epsilon: 2").fingerprint
    assert collection_of("epsilon: 2.5").fingerprint != collection_of("epsilon: 2").fingerprint


def test_every_method_can_be_named() -> None:
    for name in METHODS:
        assert collection_of(f"epsilon: 2, method: {name}").method.name == name


@pytest.mark.parametrize(
    ("mechanism", "problem"),
    [
        ("epsilon: 2, method: sfp", "mechanism.method"),
        ("epsilon: 0", "mechanism.epsilon"),
        ("epsilon: 40", "epsilon=40.0 is beyond the resolution"),
        ("epsilon: 2, k: 0", "mechanism.k"),
        ("epsilon: 2, k: 513", "mechanism.k"),
    ],
)
def test_what_no_method_can_do_is_refused_at_its_place(mechanism: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=problem):
        collection_of(mechanism)
