"""Tests of the names of consumer groups: which are shared, and which belong to one collection."""

from __future__ import annotations

from stream_ldp.kafka.group_names import GroupNames

NAMES = GroupNames(prefix="blue")


def test_every_group_of_a_collection_is_known_as_one_of_a_collection() -> None:
    assert NAMES.of("care") == ("blue.care.ingest", "blue.care.merged", "blue.care.released")
    assert all(NAMES.is_of_a_collection(each) for each in NAMES.of("care"))


def test_groups_of_many_collections_and_of_others_are_of_no_collection() -> None:
    others = (NAMES.merge(["care"]), "blue.care.reading", "red.care.ingest", "bluer.care.ingest", "blue")
    assert not any(NAMES.is_of_a_collection(each) for each in others)


def test_the_group_that_merges_depends_on_the_collections_and_not_on_their_order() -> None:
    assert NAMES.merge(["care", "films"]) == NAMES.merge(["films", "care"])
    assert len({NAMES.merge(each) for each in (["care"], ["films"], ["care", "films"])}) == 3
    assert NAMES.merge(["care"]) == "blue.merge.f9ed2b54"
