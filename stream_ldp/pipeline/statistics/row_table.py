"""Counts of every possible row of few bits: the form in which a tally of narrow rows is written and merged.

A table of 16 bits that millions of reports have filled takes a tenth of a millisecond to encode, and addition to
merge. As distinct rows, which are sorted, it would take fifty times as long, and eight times as many bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import cramjam
import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.statistics.row_counts import RowCounts
from stream_ldp.pipeline.statistics.statistic import Statistic

#: Widest rows that are counted in a table: 2^16 counters take 512 KiB in memory, and 30 to 130 KB on the log.
TABLE_BITS = 16

_HEADER = struct.Struct("<BB")  # bits of a row, bytes of a count
_COUNTS = tuple(np.dtype(f"<u{size}") for size in (1, 2, 4))
_LEVEL = 1  # of Zstandard: counts are noise, and higher levels compress them no better


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class RowTable(Statistic):
    """How often each row came.

    bits: number of bits of a row, 1 to `TABLE_BITS`.
    counts: integers, shape (2^bits,); bit b of an index is bit b of the row.
    """

    bits: int
    counts: NDArray[np.integer]

    @classmethod
    def of(cls, counts: NDArray[np.int64], *, bits: int) -> Self:
        """Copy a table of counts, to as few bytes each as the largest needs."""
        largest = int(counts.max())
        dtype = next((each for each in _COUNTS if largest <= np.iinfo(each).max), counts.dtype)
        return cls(bits=bits, counts=counts.astype(dtype))

    @classmethod
    def sum(cls, parts: Sequence[RowTable]) -> Self:
        """Add tables of the same bits up, one at least.

        Raises:
            ValueError: a part has another number of bits.
        """
        bits = parts[0].bits
        total = np.zeros(2**bits, dtype=np.int64)
        for part in parts:
            if part.bits != bits:
                raise ValueError(f"cannot add counts of {part.bits}-bit rows to counts of {bits}-bit rows")
            total += part.counts
        return cls(bits=bits, counts=total)

    @classmethod
    def merged(cls, parts: Sequence[RowTable]) -> Sequence[Statistic]:
        """See `Statistic.merged`: the rows that occur in the tables, added up first."""
        return (cls.sum(parts).distinct(),)

    def counts_rows(self, bits: int, *, valid: Callable[[NDArray[np.uint8]], NDArray[np.bool_]] | None) -> bool:
        return bits == self.bits and (valid is None or self.distinct().counts_rows(bits, valid=valid))

    @property
    def reports(self) -> int:
        """Number of reports."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Number of bytes in memory."""
        return self.counts.nbytes

    def distinct(self) -> RowCounts:
        """Return the rows that occur, with their counts."""
        width = row_width(self.bits)
        # Of two bytes of a row, the first is the low one of a pattern, and the one that rows are sorted by.
        swapped = self.counts.reshape(-1, min(len(self.counts), 2**8)).T.reshape(-1)
        keys = np.flatnonzero(swapped)
        if width == 1:
            rows = keys.astype(np.uint8)[:, None]
        else:
            high = self.bits - 8
            rows = np.stack([keys >> high, keys & (1 << high) - 1], axis=1).astype(np.uint8)
        return RowCounts(bits=self.bits, rows=rows, counts=swapped[keys].astype(np.int64))

    def to_bytes(self) -> bytes:
        """Encode the table: header (bits u8, bytes of a count u8), counts; little-endian, by Zstandard.

        All lowest bytes of the counts come first, which are noise, and then all next ones, which are nearly equal.

        Raises:
            ValueError: a count does not fit 32 bits.
        """
        size = self.counts.itemsize
        if self.counts.dtype not in _COUNTS:
            raise ValueError("only counts below 2^32 have a byte form")
        planes = self.counts.view(np.uint8).reshape(-1, size).T.tobytes()
        return _HEADER.pack(self.bits, size) + bytes(cramjam.zstd.compress(planes, _LEVEL))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode what `to_bytes` has encoded.

        Raises:
            ValueError, struct.error: the bytes are no such table.
        """
        bits, size = _HEADER.unpack_from(data)
        if not 1 <= bits <= TABLE_BITS or size not in (dtype.itemsize for dtype in _COUNTS):
            raise ValueError(f"a table of {bits} bits with counts of {size} bytes, which none has")
        planes: Any = np.empty(size << bits, dtype=np.uint8)
        try:
            length = cramjam.zstd.decompress_into(data[_HEADER.size :], planes)
        except cramjam.DecompressionError as error:
            raise ValueError(f"a table that cannot be expanded: {error}") from error
        if length != len(planes):
            raise ValueError(f"{length} bytes for {2**bits} counts of {size} bytes")
        counts = np.ascontiguousarray(planes.reshape(size, -1).T).view(f"<u{size}")[:, 0]
        return cls(bits=bits, counts=counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowTable):
            return NotImplemented
        return self.bits == other.bits and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]
