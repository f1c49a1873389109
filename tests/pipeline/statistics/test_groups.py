"""Tests of which statistics are sent together, and when."""

from collections.abc import Mapping

import numpy as np

from stream_ldp.pipeline.statistics import Room, Tally, take_changed, tally_of_rows
from stream_ldp.pipeline.statistics.groups import GROUP_BYTES, groups_of

_ROW = np.array([[1]], dtype=np.uint8)


def tallies_of(*bits: int) -> dict[tuple[str, ...], Tally]:
    return {(f"e{number}",): tally_of_rows(each) for number, each in enumerate(bits)}


def names(tallies: Mapping[tuple[str, ...], Tally]) -> list[tuple[str, ...]]:
    return [tuple(name for (name,) in group) for group in groups_of(tallies)]


def test_small_and_large_statistics_are_in_groups_of_their_own_and_segments_in_none() -> None:
    assert names(tallies_of(4, 16, 18, 5, 16)) == [("e0", "e3"), ("e1", "e4")]


def test_a_group_takes_no_more_bytes_than_a_record_may_have() -> None:
    tallies = tallies_of(*[16] * 40)
    groups = names(tallies)
    assert [len(group) * 8 * 2**16 for group in groups] == [GROUP_BYTES, GROUP_BYTES, GROUP_BYTES // 2]
    assert sum(groups, ()) == tuple(name for (name,) in tallies)


def test_all_of_a_group_is_sent_when_any_of_it_has_changed() -> None:
    """A record replaces the one before: what it left out, compaction would drop."""
    tallies = tallies_of(4, 5)
    for tally in tallies.values():
        tally.update(_ROW)
    (first,) = take_changed(tallies, closing=False)
    assert list(first) == [("e0",), ("e1",)]
    assert list(take_changed(tallies, closing=True)) == []
    tallies["e1",].update(_ROW)
    (second,) = take_changed(tallies, closing=False)
    assert [segments[0].reports for segments in second.values()] == [1, 2]
    assert list(take_changed(tallies, closing=True)) == [], "all of it counts as sent"


def test_a_large_group_waits_until_it_has_a_tenth_more_reports() -> None:
    tallies = tallies_of(16, 16)
    rows = np.zeros((1_000, 2), dtype=np.uint8)
    for tally in tallies.values():
        tally.update(rows)
    assert len(list(take_changed(tallies, closing=False))) == 1
    for tally in tallies.values():
        tally.update(rows[:50])
    assert list(take_changed(tallies, closing=False)) == []
    (closing,) = take_changed(tallies, closing=True)
    assert [segments[0].reports for segments in closing.values()] == [1_050, 1_050]


def test_large_groups_beyond_the_room_of_a_flush_wait_and_come_first_in_the_next() -> None:
    tallies = tallies_of(4, *[16] * 40)
    rows = np.zeros((1_000, 2), dtype=np.uint8)

    def sent(*, closing: bool = False) -> list[int]:
        """Count more, flush, and list how many statistics each record has."""
        for tally in tallies.values():
            tally.update(rows[:, :1] if tally is tallies["e0",] else rows)
        found = list(take_changed(tallies, closing=closing, room=Room(nbytes=GROUP_BYTES + 1)))
        served.extend(of for changed in found for of in changed)
        return [len(changed) for changed in found]

    served: list[tuple[str, ...]] = []
    assert sent() == [1, 16, 16], "what is small never waits, and the last has room if any is left"
    assert sorted(sent()) == [1, 8, 16], "that which has waited comes first"
    assert set(served) == set(tallies)
    assert sorted(sent(closing=True)) == [1, 8, 16, 16]
