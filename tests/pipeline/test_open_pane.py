"""Tests of an open pane alone: what it takes, and what it counts of that."""

import numpy as np
import pytest

from stream_ldp.pipeline import open_pane
from stream_ldp.pipeline.open_pane import OpenPane
from stream_ldp.pipeline.pane_limits import PaneLimits
from stream_ldp.pipeline.seen_batches import BatchHash
from stream_ldp.pipeline.statistics import Room, groups, sending
from stream_ldp.pipeline.verdicts import Verdict
from tests.pipeline.test_source_partition import LAYOUT

#: What the layout counts.
TABLES = [table for each in LAYOUT.tallies().values() if (table := each.whole) is not None]


def admitted(pane: OpenPane, *batches: tuple[bytes, int], limits: PaneLimits | None = None) -> list[Verdict]:
    hashes = BatchHash(b"")([batch_id.ljust(16) for batch_id, _ in batches])
    numbers = np.array([reports for _, reports in batches])
    verdicts = pane.admit(hashes, numbers, limits=limits or PaneLimits())
    return [Verdict(each) for each in verdicts.tolist()]


def test_without_limits_a_pane_takes_every_batch_once() -> None:
    pane = OpenPane(first_offset=0)
    assert admitted(pane, (b"a", 2**20), (b"b", 1)) == [Verdict.COUNTED, Verdict.COUNTED]
    assert admitted(pane, (b"c", 1), (b"a", 2**20), (b"c", 1)) == [
        Verdict.COUNTED,
        Verdict.DUPLICATE,
        Verdict.DUPLICATE,
    ]


def test_a_batch_that_does_not_fit_takes_no_room_from_those_after_it() -> None:
    pane, limits = OpenPane(first_offset=0), PaneLimits(batches=2, linked=4)
    assert admitted(pane, (b"a", 3), (b"b", 2), (b"c", 1), (b"d", 1), limits=limits) == [
        Verdict.COUNTED,
        Verdict.FULL,
        Verdict.COUNTED,
        Verdict.CROWDED,
    ]


def test_a_pane_sends_what_has_been_counted_alone() -> None:
    pane = OpenPane(first_offset=0)
    assert not list(pane.take_changed(closing=True, room=None))
    for first, rows in ((0, np.ones((3, 1), dtype=np.uint8)), (1, np.zeros((2, 1), dtype=np.uint8))):
        pane.count(LAYOUT, rows, counts=np.array([len(rows)]), offsets=np.array([first]))
    (changed,) = pane.take_changed(closing=True, room=None)
    assert [sum(part.reports for part in segments.values()) for segments in changed.values()] == [5]


def test_reports_to_tables_that_are_not_sent_are_gathered_further(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (groups, sending):
        monkeypatch.setattr(module, "SMALL_BYTES", 0)
    pane, rows = OpenPane(first_offset=0), np.ones((3, 1), dtype=np.uint8)
    pane.count(LAYOUT, rows, counts=np.array([3]), offsets=np.array([0]))
    before = pane.nbytes
    assert not list(pane.take_changed(closing=False, room=Room(nbytes=0)))
    assert pane.nbytes == before + sum(table.nbytes for table in TABLES)
    (changed,) = pane.take_changed(closing=False, room=Room(nbytes=1))
    assert pane.nbytes == before + sum(table.nbytes for table in TABLES) - rows.nbytes
    assert [part.reports for segments in changed.values() for part in segments.values()] == [3]


def test_a_pane_counts_what_it_has_gathered_before_it_takes_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_pane, "GATHERED_BYTES", 4)
    pane, rows = OpenPane(first_offset=0), np.ones((3, 1), dtype=np.uint8)
    pane.count(LAYOUT, rows, counts=np.array([3]), offsets=np.array([0]))
    gathered = pane.nbytes
    pane.count(LAYOUT, rows, counts=np.array([3]), offsets=np.array([1]))
    assert (gathered, pane.nbytes) == (rows.nbytes, sum(table.nbytes for table in TABLES))
