"""Tests of the names of consumer groups: which are shared, and which belong to one collection."""

from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.kafka.group_names import GroupNames
from tests.kafka.names import collections, is_collection, is_prefix, prefixes

NAMES = GroupNames(prefix="blue")


def test_every_group_of_a_collection_is_known_as_one_of_a_collection() -> None:
    assert NAMES.of("care") == ("blue.care.merged", "blue.care.released")
    assert all(NAMES.is_of_a_collection(each) for each in NAMES.of("care"))


def test_groups_of_many_collections_and_of_others_are_of_no_collection() -> None:
    others = (
        NAMES.merge(["care"]),
        NAMES.ingest,
        "blue.care.reading",
        "red.care.merged",
        "bluer.care.merged",
        "blue.neighbour.care.merged",
        "blue.neighbour.merged.released",
        "blue..merged",
        "blue.Care.merged",
        "blue.ingest",
        "blue",
    )
    assert not any(NAMES.is_of_a_collection(each) for each in others)


def test_the_group_that_merges_depends_on_the_collections_and_not_on_their_order() -> None:
    assert NAMES.merge(["care", "films"]) == NAMES.merge(["films", "care"])
    assert len({NAMES.merge(each) for each in (["care"], ["films"], ["care", "films"])}) == 3
    assert NAMES.merge(["care"]) == "blue._merge.f9ed2b54fd72ac16"
    assert NAMES.merge_registered == "blue._merge.registered", "whichever those are"


@given(prefixes, collections, st.integers(0, 1))
def test_a_group_is_that_of_one_prefix_and_one_collection(prefix: str, collection: str, kind: int) -> None:
    group = GroupNames(prefix=prefix).of(collection)[kind]
    places = [place for place, letter in enumerate(group) if letter == "."]
    readings = [
        (group[:first], group[first + 1 : last])
        for first in places
        for last in places
        if first < last and is_prefix(group[:first]) and is_collection(group[first + 1 : last])
        if group in GroupNames(prefix=group[:first]).of(group[first + 1 : last])
    ]
    assert readings == [(prefix, collection)]
    assert not group.startswith(f"{GroupNames(prefix=prefix).merges}.")
