"""A tally of rows: the same whatever the batches, in segments that fit a record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_ldp.pipeline.statistics import RowCounts, RowTally, row_tally, row_width
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
        tally = RowTally(bits)
        segments: dict[int, RowCounts] = {}
        for part in parts:
            tally.update(packed(part, bits))
            changed = tally.take_changed(closing=False)
            assert bool(changed) == bool(part)
            segments |= changed
    if bits <= row_tally.DENSE_BITS:
        expected = [rows] if rows else []
    else:
        expected = [rows[start : start + capacity] for start in range(0, len(rows), capacity)]
    assert segments == {segment: counts_of(part, bits) for segment, part in enumerate(expected)}


def test_only_segments_that_changed_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_tally, "SEGMENT_BYTES", 2 * (row_width(17) + 4))
    tally = RowTally(17)
    tally.update(packed([1, 2, 3], 17))
    assert sorted(tally.take_changed(closing=False)) == [0, 1]
    assert tally.take_changed(closing=False) == {}
    tally.update(packed([4, 5], 17))
    assert sorted(tally.take_changed(closing=False)) == [1, 2]


def test_counts_do_not_change_after_they_are_taken() -> None:
    """Nothing that is still on its way to the broker is relied on."""
    for bits in (5, 17):
        tally = RowTally(bits)
        tally.update(packed([1], bits))
        taken = tally.take_changed(closing=False)[0]
        tally.update(packed([1, 1], bits))
        assert taken == counts_of([1], bits)


def test_a_full_segment_fits_a_record() -> None:
    """Kafka takes 1 MB by default; the segment of the widest rows is the one with the fewest counters."""
    for bits in (17, 1_000, 100_000):
        tally = RowTally(bits)
        distinct = row_tally.SEGMENT_BYTES // (row_width(bits) + 4)
        rows = np.random.default_rng(1).integers(256, size=(distinct + 1, row_width(bits)), dtype=np.uint8)
        tally.update(rows)
        changed = tally.take_changed(closing=False)
        assert sorted(changed) == [0, 1]
        assert all(len(counts.to_bytes()) < 10**6 for counts in changed.values())
