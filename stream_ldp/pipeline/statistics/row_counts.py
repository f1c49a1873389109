"""Counts of the distinct report rows: the sufficient statistic of every joint estimate.

Narrow attributes have few distinct rows, so the statistic is small whatever the number of reports; wide ones
have up to one row a report. The value is the same in both cases: it merges by addition and has one byte form.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.statistics.statistic import Statistic

_HEADER = struct.Struct("<II")  # bits of a row, number of distinct rows
_COUNT = np.dtype("<u4")
_KEY_BYTES = 8  # rows up to this width sort as one integer, which is ten times faster than as bytes


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class RowCounts(Statistic):
    """Distinct packed rows with their counts.

    bits: number of bits of a row.
    rows: uint8, shape (distinct, ceil(bits / 8)); bit b of a row is bit b % 8 of byte b // 8. Strictly
        ascending in byte order, so that equal statistics have equal bytes.
    counts: int64 (counted reports) or float64 (weighted ones), shape (distinct,), positive.
    """

    bits: int
    rows: NDArray[np.uint8]
    counts: NDArray[np.int64 | np.float64]

    @classmethod
    def empty(cls, bits: int) -> Self:
        """Make the statistic of no reports."""
        return cls(bits=bits, rows=np.zeros((0, row_width(bits)), dtype=np.uint8), counts=np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, rows: NDArray[np.uint8], *, bits: int) -> Self:
        """Count packed rows, uint8 of shape (n, ceil(bits / 8))."""
        return cls._grouped(bits, rows, np.ones(len(rows), dtype=np.int64))

    @classmethod
    def sum(cls, parts: Iterable[RowCounts], *, bits: int) -> Self:
        """Add statistics of the same bits; the order does not matter.

        Raises:
            ValueError: a part has another number of bits.
        """
        filled = [part for part in parts if len(part.counts)]
        for part in filled:
            if part.bits != bits:
                raise ValueError(f"cannot add counts of {part.bits}-bit rows to counts of {bits}-bit rows")
        if not filled:
            return cls.empty(bits)
        if len(filled) == 1:
            return cls(bits=bits, rows=filled[0].rows, counts=filled[0].counts)
        return cls._grouped(
            bits, np.concatenate([part.rows for part in filled]), np.concatenate([part.counts for part in filled])
        )

    @classmethod
    def _grouped(cls, bits: int, rows: NDArray[np.uint8], counts: NDArray[np.int64 | np.float64]) -> Self:
        if not len(rows):
            return cls.empty(bits)
        _, first, inverse = np.unique(_keys(rows), return_index=True, return_inverse=True)
        # Sums of fewer than 2^53 reports are exact in float64.
        total = np.bincount(inverse, weights=counts)
        return cls(bits=bits, rows=rows[first], counts=total.astype(counts.dtype))

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts.sum([self, other], bits=self.bits)

    def since(self, before: RowCounts) -> Self | None:
        """Return what was added to counts that were these; None if they are no part of these."""
        every, known = _keys(self.rows), _keys(before.rows)
        places = np.searchsorted(every, known)
        if len(known) and (places[-1] == len(every) or (every[places] != known).any()):
            return None
        added = self.counts.copy()
        added[places] = added[places] - before.counts
        return None if (added < 0).any() else replace(self, counts=added).where(added > 0)

    def counts_rows(self, bits: int, *, valid: Callable[[NDArray[np.uint8]], NDArray[np.bool_]] | None) -> bool:
        if bits != self.bits:
            return False
        if not len(self.rows):
            return True
        spare = bits % 8
        if (self.counts <= 0).any() or (spare and (self.rows[:, -1] >> spare).any()):
            return False
        return valid is None or bool(valid(self.rows).all())

    def where(self, kept: NDArray[np.bool_]) -> Self:
        """Return some of the distinct rows, with their counts; bool, shape (distinct,)."""
        return type(self)(bits=self.bits, rows=self.rows[kept], counts=self.counts[kept])

    def mapped(self, rows: NDArray[np.uint8], *, bits: int) -> Self:
        """Return the counts of what each distinct row has become, such as some of its bits; see `of`."""
        return self._grouped(bits, rows, self.counts)

    def scaled(self, weight: float | NDArray[np.float64]) -> RowCounts:
        """Return the same rows with every count multiplied by a positive weight, as float64.

        weight: one for all rows, or one for each, shape (distinct,).
        """
        return RowCounts(bits=self.bits, rows=self.rows, counts=self.counts.astype(np.float64) * weight)

    @property
    def reports(self) -> float:
        """Sum of the counts: the number of reports, or their total weight."""
        return self.counts.sum().item()  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        """Number of bytes in memory."""
        return self.rows.nbytes + self.counts.nbytes

    def unpacked(self) -> NDArray[np.uint8]:
        """Unpack the distinct rows to their bits: 0 or 1, uint8, shape (distinct, bits)."""
        return np.unpackbits(self.rows, axis=1, count=self.bits, bitorder="little")

    def to_bytes(self) -> bytes:
        """Encode the counts: header (bits u32, distinct u32), rows, counts u32; all little-endian.

        Raises:
            ValueError: the counts are weighted, or one of them does not fit 32 bits.
        """
        if self.counts.dtype != np.int64 or (len(self.counts) and self.counts.max() >= 2**32):
            raise ValueError("only plain counts below 2^32 have a byte form")
        return b"".join(
            (
                _HEADER.pack(self.bits, len(self.counts)),
                self.rows.tobytes(),
                self.counts.astype(_COUNT).tobytes(),
            )
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode what `to_bytes` has encoded.

        Raises:
            ValueError: the length is not what the header says.
        """
        bits, distinct = _HEADER.unpack_from(data)
        width = row_width(bits)
        split = _HEADER.size + distinct * width
        if len(data) != split + distinct * _COUNT.itemsize:
            raise ValueError(f"{len(data)} bytes for {distinct} rows of {bits} bits")
        rows = np.frombuffer(data, np.uint8, distinct * width, _HEADER.size).reshape(distinct, width)
        return cls(bits=bits, rows=rows, counts=np.frombuffer(data, _COUNT, distinct, split).astype(np.int64))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowCounts):
            return NotImplemented
        return (
            self.bits == other.bits
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]


def _keys(rows: NDArray[np.uint8]) -> NDArray[np.generic]:
    """Return one key for each row, which sorts in byte order."""
    n, width = rows.shape
    if width <= _KEY_BYTES:
        padded = np.zeros((n, _KEY_BYTES), dtype=np.uint8)
        padded[:, :width] = rows
        return padded.view(">u8").ravel().astype(np.uint64)
    return np.ascontiguousarray(rows).view(np.dtype((np.void, width))).ravel()
