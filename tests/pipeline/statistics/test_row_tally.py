"""A tally of rows: the same whatever the batches, in segments that fit a record."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.statistics import RowTable, Statistic, merged, row_tally, tally_of_rows
from stream_ldp.pipeline.statistics.row_table import TABLE_BITS
from stream_ldp.pipeline.statistics.sending import STATISTIC_BYTES
from tests.pipeline.statistics.examples import counts_of, packed, reports


@settings(deadline=None)
@given(reports(parts=4), st.integers(1, 7))
def test_a_tally_does_not_depend_on_how_its_rows_were_batched(
    case: tuple[int, list[list[int]]], capacity: int
) -> None:
    """Nor on when it was looked at: a segment is a function of the rows in it."""
    bits, parts = case
    rows = [row for part in parts for row in part]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_tally, "SEGMENT_BYTES", capacity * (row_width(bits) + 4))
        tally = tally_of_rows(bits)
        segments: dict[int, Statistic] = {}
        for part in parts:
            tally.update(packed(part, bits))
            changed = tally.take_changed(closing=True)
            assert bool(changed) == bool(part)
            segments |= changed
    if bits <= TABLE_BITS:
        expected = [rows] if rows else []
    else:
        expected = [rows[start : start + capacity] for start in range(0, len(rows), capacity)]
    counted = {segment: merged([sent])[0] for segment, sent in segments.items()}
    assert counted == {segment: counts_of(part, bits) for segment, part in enumerate(expected)}


@settings(deadline=None)
@given(reports(parts=2), st.integers(1, 7))
def test_a_tally_that_is_restored_goes_on_as_the_one_that_was_sent(
    case: tuple[int, list[list[int]]], capacity: int
) -> None:
    bits, (before, after) = case
    if not before:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_tally, "SEGMENT_BYTES", capacity * (row_width(bits) + 4))
        alone, first, second = (tally_of_rows(bits) for _ in range(3))
        first.update(packed(before, bits))
        second.restore(first.take_changed(closing=True))
        second.update(packed(after, bits))
        alone.update(packed(before + after, bits))
        assert second.take_changed(closing=False) == alone.take_changed(closing=False)


def test_segments_that_no_tally_gives_are_not_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_tally, "SEGMENT_BYTES", 2 * (row_width(17) + 4))
    full, half, more = (counts_of(rows, 17) for rows in ([1, 2], [3], [4, 5, 6]))
    narrow = counts_of([1], 5)
    for segments in ({}, {1: full}, {0: half, 1: full}, {0: full, 2: half}, {0: more}, {0: narrow}):
        with pytest.raises(ValueError, match="not the segments of rows of 17 bits"):
            tally_of_rows(17).restore(segments)
    with pytest.raises(ValueError, match="not a table of rows of 5 bits"):
        tally_of_rows(5).restore({0: full})


def test_only_segments_that_changed_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_tally, "SEGMENT_BYTES", 2 * (row_width(17) + 4))
    tally = tally_of_rows(17)
    tally.update(packed([1, 2, 3], 17))
    assert sorted(tally.take_changed(closing=False)) == [0, 1]
    assert tally.take_changed(closing=False) == {}
    tally.update(packed([4, 5], 17))
    assert sorted(tally.take_changed(closing=False)) == [1, 2]


def test_counts_do_not_change_after_they_are_taken() -> None:
    """Nothing that is still on its way to the broker is relied on."""
    for bits in (5, 17):
        tally = tally_of_rows(bits)
        tally.update(packed([1], bits))
        taken = tally.take_changed(closing=False)[0]
        tally.update(packed([1, 1], bits))
        assert merged([taken]) == (counts_of([1], bits),)


def test_a_full_segment_fits_a_record() -> None:
    """Kafka takes 1 MB by default; the segment of the widest rows is the one with the fewest counters."""
    for bits in (17, 1_000, 100_000):
        tally = tally_of_rows(bits)
        distinct = row_tally.SEGMENT_BYTES // (row_width(bits) + 4)
        rows = np.random.default_rng(1).integers(256, size=(distinct + 1, row_width(bits)), dtype=np.uint8)
        tally.update(rows)
        changed = tally.take_changed(closing=False)
        assert sorted(changed) == [0, 1]
        assert all(len(counts.to_bytes()) < 10**6 for counts in changed.values())


def test_a_large_table_is_sent_when_a_tenth_more_reports_have_come() -> None:
    """Sent with every flush, 28 pairs of 8 x 8 values on 4 partitions would be 50 MB a second."""
    for bits, sent_each_time in ((13, True), (14, False)):
        tally = tally_of_rows(bits)
        tally.update(packed([1] * 1_000, bits))
        assert tally.take_changed(closing=False)[0].reports == 1_000
        tally.update(packed([2] * 99, bits))
        assert bool(tally.take_changed(closing=False)) == sent_each_time
        tally.update(packed([2], bits))
        assert tally.take_changed(closing=False)[0].reports == 1_100


@pytest.mark.parametrize("bits", [3, 8, 11, 16])
def test_a_tally_takes_what_it_sends_and_nothing_else(bits: int) -> None:
    tally = tally_of_rows(bits)
    tally.update(packed([1, 2, 2], bits))
    table = tally.take_changed(closing=True)[0]
    assert tally.fits(table)
    assert tally.fits(counts_of([1, 2, 2], bits))
    assert not tally.fits(RowTable.of(np.ones(2**12, dtype=np.int64), bits=12))
    one = tally_of_rows(bits, valid=lambda rows: rows[:, 0] == 1)
    assert not one.fits(table)
    assert one.fits(RowTable.of(np.bincount([1], minlength=2**bits), bits=bits))


@pytest.mark.parametrize(("bits", "reports", "flushes"), [(5, 3_000, 20), (16, 40_000, 20), (40, 30_000, 5)])
def test_the_load_of_a_pane_is_about_what_is_sent(bits: int, reports: int, flushes: int) -> None:
    """At most a tenth less, and twice as much: early partials hold fewer reports than the last."""
    rows = np.random.default_rng(1).integers(0, 2**bits, size=reports, dtype=np.uint64)
    packed_rows = rows[:, None].view(np.uint8)[:, : row_width(bits)]
    tally, sent = tally_of_rows(bits), 0
    for flush, part in enumerate(np.array_split(packed_rows, flushes), start=1):
        tally.update(part)
        changed = tally.take_changed(closing=flush == flushes)
        sent += sum(STATISTIC_BYTES + len(statistic.to_bytes()) for statistic in changed.values())
    load = tally.load(reports=reports, flushes=flushes)
    assert 0.9 * sent <= load.sent <= 2 * sent
