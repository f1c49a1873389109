"""The statistic of a frequency oracle: the sum of its reports' vectors, and the number of reports."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pipeline.statistics.statistic import Statistic

#: Bytes of a sum in memory.
SUM_BYTES = 8

#: Reports, length of the vector, entries that are written out, bytes of each.
_HEAD = struct.Struct("<QIIB")
_INDEX = np.dtype("<u4")
_VALUES = tuple(np.dtype(f"<i{size}") for size in (1, 2, 4, 8))

#: Most counters of a vector, 32 MB of them: twice as many as the widest oracle has over the largest domain. Without a
#: limit, twenty bytes could announce 2^32 that nobody writes out.
MAX_COUNTERS = 2**22


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class ReportSums(Statistic):
    """Sums over reports; the sums of several sources can be added.

    reports: number of reports.
    values: int64, shape (counters,), as `FrequencyOracle.sums` counts them.
    """

    reports: int
    values: NDArray[np.int64]

    @classmethod
    def sum(cls, parts: Iterable[ReportSums], *, counters: int) -> Self:
        """Add up sums, if there are any.

        counters: length of the vector.

        Raises:
            ValueError: a part has a vector of another length.
        """
        reports, values = 0, np.zeros(counters, dtype=np.int64)
        for part in parts:
            if len(part.values) != counters:
                raise ValueError(f"sums of {len(part.values)} counters cannot be added to sums of {counters}")
            reports += part.reports
            values += part.values
        return cls(reports=reports, values=values)

    def adds_up(self, counters: int, *, possible: Callable[..., bool]) -> bool:
        return len(self.values) == counters and possible(self.values, reports=np.array(self.reports, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Number of bytes in memory."""
        return self.values.nbytes

    def to_bytes(self) -> bytes:
        """Encode the sums; equal sums have equal bytes.

        Every value has as many bytes as the largest needs. Zeros are left out if that makes the bytes fewer: a domain
        of a million items has twice as many counters, and the first reports change few of them.
        """
        largest = int(np.abs(self.values).max(initial=0))
        dtype = next(each for each in _VALUES if largest <= np.iinfo(each).max)
        filled = np.flatnonzero(self.values)
        counters = len(self.values)
        if len(filled) * (_INDEX.itemsize + dtype.itemsize) >= counters * dtype.itemsize:
            head = _HEAD.pack(self.reports, counters, counters, dtype.itemsize)
            return head + self.values.astype(dtype).tobytes()
        head = _HEAD.pack(self.reports, counters, len(filled), dtype.itemsize)
        return head + filled.astype(_INDEX).tobytes() + self.values[filled].astype(dtype).tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode what `to_bytes` has encoded.

        Raises:
            ValueError, IndexError, struct.error: the bytes are no such sums.
        """
        reports, counters, entries, size = _HEAD.unpack_from(data)
        if counters > MAX_COUNTERS or size not in (dtype.itemsize for dtype in _VALUES):
            raise ValueError(f"{counters} counters of {size} bytes each are announced, which no sums have")
        indices = np.frombuffer(data, dtype=_INDEX, count=entries if entries < counters else 0, offset=_HEAD.size)
        written = np.frombuffer(data, dtype=f"<i{size}", offset=_HEAD.size + indices.nbytes)
        if len(written) != entries:
            raise ValueError(f"{entries} entries are announced, there are {len(written)}")
        if entries == counters:
            return cls(reports=reports, values=written.astype(np.int64))
        values = np.zeros(counters, dtype=np.int64)
        values[indices] = written
        return cls(reports=reports, values=values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportSums):
            return NotImplemented
        return self.reports == other.reports and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]
