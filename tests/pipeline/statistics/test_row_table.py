"""Tables of narrow rows: the same counts as of distinct rows, and bytes that are read back unchanged."""

import struct

import cramjam
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_ldp.pipeline.statistics import RowCounts, RowTable, merged
from stream_ldp.pipeline.statistics.row_table import TABLE_BITS
from tests.pipeline.statistics.examples import counts_of


def table_of(rows: list[int], bits: int) -> RowTable:
    return RowTable.of(np.bincount(rows, minlength=2**bits), bits=bits)


@st.composite
def narrow(draw: st.DrawFn) -> tuple[int, list[list[int]]]:
    bits = draw(st.integers(1, TABLE_BITS))
    return bits, draw(st.lists(st.lists(st.integers(0, 2**bits - 1), max_size=40), min_size=1, max_size=4))


@settings(deadline=None)
@given(narrow())
def test_tables_add_up_to_what_distinct_rows_do(case: tuple[int, list[list[int]]]) -> None:
    bits, parts = case
    tables = [table_of(part, bits) for part in parts]
    expected = RowCounts.sum([counts_of(part, bits) for part in parts], bits=bits)
    assert merged(tables) == (expected,)
    assert sum(table.reports for table in tables) == expected.reports
    assert merged([*tables, expected]) == (expected, expected)


@pytest.mark.parametrize(("largest", "size"), [(2**8 - 1, 1), (2**8, 2), (2**16 - 1, 2), (2**16, 4), (2**32 - 1, 4)])
def test_a_table_is_read_back_unchanged_in_as_few_bytes_as_its_counts_need(largest: int, size: int) -> None:
    counts = np.arange(2**9, dtype=np.int64) % 7
    counts[5] = largest
    table = RowTable.of(counts, bits=9)
    again = RowTable.from_bytes(table.to_bytes())
    assert again == table
    assert np.array_equal(again.counts, counts)
    assert again.counts.itemsize == size


def test_counts_beyond_32_bits_have_no_byte_form() -> None:
    with pytest.raises(ValueError, match="below 2\\^32"):
        RowTable.of(np.array([0, 2**32]), bits=1).to_bytes()


def test_a_full_table_of_many_reports_is_small() -> None:
    """28 pairs of 8 x 8 values are 112 such tables on 4 partitions; as distinct rows, each had 390 KB."""
    table = RowTable.of(np.random.default_rng(1).poisson(15, size=2**16), bits=16)
    assert len(table.to_bytes()) < 40_000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x08",
        bytes([0, 1]) + cramjam.zstd.compress(b"\x00"),
        bytes([17, 1]) + cramjam.zstd.compress(b"\x00" * 2**17),
        bytes([3, 3]) + cramjam.zstd.compress(b"\x00" * 24),
        bytes([3, 8]) + cramjam.zstd.compress(b"\x00" * 64),
        bytes([3, 1]) + cramjam.zstd.compress(b"\x00" * 7),
        bytes([3, 1]) + cramjam.zstd.compress(b"\x00" * 9),
        bytes([3, 1]) + cramjam.zstd.compress(b"\x00" * 10**6),
        bytes([3, 1]) + b"no Zstandard",
    ],
)
def test_what_is_no_table_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, struct.error)):
        RowTable.from_bytes(data)


def test_tables_of_different_rows_do_not_meet() -> None:
    with pytest.raises(ValueError, match="cannot add counts of 3-bit rows to counts of 2-bit rows"):
        merged([table_of([1], 2), table_of([1], 3)])
