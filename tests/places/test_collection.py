"""Collections of places: what a file says, what a record must say, and what the fingerprint covers."""

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.errors import DataError
from stream_ldp.kinds import parse_collection
from stream_ldp.places.collection import Choice, PlaceCollection
from tests.places.examples import TEXT, collection_of

RECORD = {"place": "d", "region": "south", "epsilon": "2"}


def test_a_file_is_read_as_a_collection_of_places() -> None:
    collection = parse_collection(TEXT.format(mechanism="epsilon: [0.5, 2]", window=""))
    assert isinstance(collection, PlaceCollection)
    assert [each.name for each in collection.tree.regions] == ["everywhere", "north", "south"]
    assert len(collection.questions.questions) == 6
    assert collection.topics.answers == "places"
    assert [each.name for each in collection.series] == ["places"]


def test_a_record_is_a_place_a_region_and_an_epsilon() -> None:
    collection = collection_of()
    assert collection.encode(RECORD) == (3, 2, 1)
    assert collection.encode({**RECORD, "region": "everywhere", "epsilon": "0.50"}) == (3, 0, 0)
    table = collection.table([collection.encode(RECORD)])
    assert collection.chosen(table).tolist() == [collection.number_of(2, 1)] == [5]
    assert collection.table(table) is table


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({**RECORD, "place": "z"}, "attribute 'place': the given value is not one of a, b, c, d, e"),
        ({**RECORD, "region": "east"}, "attribute 'region': the given value is not one of everywhere, north, south"),
        ({**RECORD, "epsilon": "1"}, "attribute 'epsilon': the given value is not one of 0.5, 2"),
        ({**RECORD, "epsilon": "nan"}, "attribute 'epsilon': the given value is not one of 0.5, 2"),
        ({**RECORD, "epsilon": "much"}, "attribute 'epsilon': the given value is not one of 0.5, 2"),
        ({**RECORD, "region": "north"}, "the place is outside the region 'north'"),
        ({"place": "d"}, "attribute 'region' is missing"),
        ({**RECORD, "town": "x"}, "'town' is not an attribute"),
    ],
)
def test_a_record_that_does_not_fit_is_refused_without_its_place(record: dict[str, str], message: str) -> None:
    with pytest.raises(DataError) as raised:
        collection_of().encode(record)
    assert message in str(raised.value)
    assert "'z'" not in str(raised.value)


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("epsilon: []", "at least 1 needed"),
        ("epsilon: [0]", "greater than 0"),
        ("epsilon: [1, 0.5]", "ascending order"),
        ("epsilon: [1, 1]", "ascending order"),
        ("epsilon: [inf]", "finite number"),
        ("epsilon: [50]", "beyond the resolution"),
        ("epsilon: [1], weights: age", "expected 'users' or 'variance'"),
        ("epsilon: [1], oracle: olh", "expected 'auto', 'k-rr'"),
    ],
)
def test_what_is_wrong_with_a_mechanism_is_said_with_its_place(mechanism: str, message: str) -> None:
    with pytest.raises(CollectionError) as raised:
        collection_of(mechanism)
    assert message in str(raised.value)
    assert "<collection>:3:" in str(raised.value)


def test_a_tree_is_given_in_one_way_and_its_faults_are_located() -> None:
    text = TEXT.format(mechanism="epsilon: [1]", window="")
    with pytest.raises(CollectionError, match="give either `places`, a tree of regions, or `levels`"):
        PlaceCollection.parse(text + "levels: [2, 2]\n")
    with pytest.raises(CollectionError, match=r"<collection>:5:.*region 'north' has fewer than two places"):
        PlaceCollection.parse(text.replace("[a, b]", "[a]"))
    with pytest.raises(CollectionError, match="greater than or equal to 2"):
        PlaceCollection.parse(text[: text.index("places:\n")] + "levels: [2, 1]\nwindow: {size: 10s}\n")
    many = [1 + number / 8 for number in range(9)]
    spec = f"{{kind: places, epsilon: {many}}}"
    text = f"collection: visits\nmechanism: {spec}\nlevels: {[2] * 13}\nwindow: {{size: 10s}}\n"
    with pytest.raises(CollectionError, match="73,719 pairs of a region and an epsilon; at most 65,536"):
        PlaceCollection.parse(text)


def test_the_fingerprint_covers_what_a_report_means_and_nothing_else() -> None:
    first = collection_of().fingerprint
    assert collection_of(window=", memory: 0.5").fingerprint == first
    assert collection_of("epsilon: [0.5, 2], weights: variance").fingerprint == first
    assert collection_of("epsilon: [0.5, 1]").fingerprint != first
    text = TEXT.format(mechanism="epsilon: [0.5, 2]", window="")
    assert PlaceCollection.parse(text.replace("[a, b]", "[b, a]")).fingerprint != first
    assert PlaceCollection.parse(text.replace("[c, d, e]", "{x: [c, d], y: [e, f]}")).fingerprint != first


def test_a_choice_is_one_of_its_names() -> None:
    assert Choice("region", ["x", "y"]).encode("y") == 1
