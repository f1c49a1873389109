"""Tests of the sufficient statistic: counting commutes with merging, and equal statistics have equal bytes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_ldp.pipeline.statistics import RowCounts
from tests.pipeline.statistics.examples import counts_of, reports


def as_dictionary(counts: RowCounts) -> dict[int, int]:
    return {
        int.from_bytes(row.tobytes(), "little"): int(n) for row, n in zip(counts.rows, counts.counts, strict=True)
    }


@settings(deadline=None)
@example((9, [[1, 2**8]]))
@given(reports())
def test_every_row_is_counted_as_often_as_it_occurs(case: tuple[int, list[list[int]]]) -> None:
    bits, (rows,) = case
    counts = counts_of(rows, bits)
    assert as_dictionary(counts) == Counter(rows)
    assert counts.reports == len(rows)
    order = [row.tobytes() for row in counts.rows]
    assert order == sorted(order)


@settings(deadline=None)
@given(reports(parts=3))
def test_merging_does_not_depend_on_the_order(case: tuple[int, list[list[int]]]) -> None:
    bits, parts = case
    a, b, c = (counts_of(part, bits) for part in parts)
    together = counts_of([row for part in parts for row in part], bits)
    assert (a + b) + c == a + (b + c) == (c + a) + b == RowCounts.sum([b, c, a], bits=bits) == together
    assert a + RowCounts.empty(bits) == a


@settings(deadline=None)
@given(reports(parts=2))
def test_what_was_added_since_is_what_is_added_again(case: tuple[int, list[list[int]]]) -> None:
    bits, parts = case
    before, added = (counts_of(part, bits) for part in parts)
    assert (before + added).since(before) == added
    lost = before.since(before + added)
    assert lost is None if added.reports else lost == added


@settings(deadline=None)
@given(reports())
def test_equal_counts_have_equal_bytes_and_are_read_back_unchanged(case: tuple[int, list[list[int]]]) -> None:
    bits, (rows,) = case
    counts = counts_of(rows, bits)
    again = RowCounts.from_bytes(counts.to_bytes())
    assert again == counts
    assert again.counts.dtype == np.int64
    assert again.to_bytes() == counts_of(rows[::-1], bits).to_bytes()


@settings(deadline=None)
@given(reports(), st.integers(-3, 3).filter(bool))
def test_bytes_that_are_too_few_or_too_many_are_refused(case: tuple[int, list[list[int]]], surplus: int) -> None:
    bits, (rows,) = case
    data = counts_of(rows, bits).to_bytes()
    with pytest.raises(ValueError, match=f"rows of {bits} bits"):
        RowCounts.from_bytes(data[:surplus] if surplus < 0 and rows else data + bytes(abs(surplus)))


def test_weighted_or_overflowing_counts_are_not_written() -> None:
    counts = counts_of([1, 2, 2], 5)
    with pytest.raises(ValueError, match="only plain counts below 2"):
        counts.scaled(0.5).to_bytes()
    with pytest.raises(ValueError, match="only plain counts below 2"):
        RowCounts(bits=5, rows=counts.rows, counts=np.array([1, 2**32])).to_bytes()


def test_rows_of_different_widths_are_not_added() -> None:
    with pytest.raises(ValueError, match="cannot add counts of 6-bit rows to counts of 5-bit rows"):
        counts_of([1], 5) + counts_of([1], 6)


@settings(deadline=None)
@given(reports(parts=2), st.floats(0.01, 10))
def test_weighted_counts_add_up(case: tuple[int, list[list[int]]], weight: float) -> None:
    bits, (first, second) = case
    total = counts_of(first, bits) + counts_of(second, bits).scaled(weight)
    plain, weighted = Counter(first), Counter(second)
    expected = {row: plain[row] + weight * weighted[row] for row in plain | weighted}
    found = {
        int.from_bytes(row.tobytes(), "little"): count for row, count in zip(total.rows, total.counts, strict=True)
    }
    assert found == pytest.approx(expected)
    assert total.reports == pytest.approx(len(first) + weight * len(second))


@settings(deadline=None)
@given(reports())
def test_every_bit_is_unpacked_to_its_own_place(case: tuple[int, list[list[int]]]) -> None:
    bits, (rows,) = case
    counts = counts_of(rows, bits)
    expected = [sum(row >> bit & 1 for row in rows) for bit in range(bits)]
    assert (counts.counts @ counts.unpacked()).tolist() == expected
    assert counts.unpacked().tolist() == [[row >> bit & 1 for bit in range(bits)] for row in as_dictionary(counts)]
