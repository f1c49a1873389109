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

    Every sum has as many bytes as the largest needs. Zeros are left out if that takes fewer bytes: a domain of a
    million items has twice as many counters, and the first reports change few of them. A partition that has been
    behind has the sums of many panes at once.

    reports: number of reports.
    counters: length of the vector.
    entries: sums, signed integers.
    places: of the entries in the vector, uint32, ascending; None if all sums are there.
    """

    reports: int
    counters: int
    entries: NDArray[np.signedinteger]
    places: NDArray[np.uint32] | None = None

    @classmethod
    def of(cls, *, reports: int, values: NDArray[np.int64]) -> Self:
        """Copy sums.

        values: int64, shape (counters,), as `FrequencyOracle.sums` counts them.
        """
        largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
        dtype = next((each for each in _VALUES if largest <= np.iinfo(each).max), _VALUES[-1])
        filled, counters = np.flatnonzero(values), len(values)
        if len(filled) * (_INDEX.itemsize + dtype.itemsize) >= counters * dtype.itemsize:
            return cls(reports=reports, counters=counters, entries=values.astype(dtype))
        entries = values[filled].astype(dtype)
        return cls(reports=reports, counters=counters, entries=entries, places=filled.astype(_INDEX))

    @property
    def values(self) -> NDArray[np.int64]:
        """All sums, int64, shape (counters,)."""
        if self.places is None and self.entries.dtype == np.int64:
            return self.entries
        values = np.zeros(self.counters, dtype=np.int64)
        self._add(values)
        return values

    def _add(self, to: NDArray[np.int64]) -> None:
        if self.places is None:
            to += self.entries
        else:
            to[self.places] += self.entries

    @classmethod
    def sum(cls, parts: Iterable[ReportSums], *, counters: int) -> Self:
        """Add up sums, if there are any.

        counters: length of the vector.

        Raises:
            ValueError: a part has a vector of another length.
        """
        reports, values = 0, np.zeros(counters, dtype=np.int64)
        for part in parts:
            if part.counters != counters:
                raise ValueError(f"sums of {part.counters} counters cannot be added to sums of {counters}")
            reports += part.reports
            part._add(values)
        return cls(reports=reports, counters=counters, entries=values)  # to be solved, and not to be written

    def adds_up(self, counters: int, *, possible: Callable[..., bool]) -> bool:
        return self.counters == counters and possible(self.values, reports=np.array(self.reports, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Number of bytes in memory."""
        return self.entries.nbytes + (0 if self.places is None else self.places.nbytes)

    def to_bytes(self) -> bytes:
        """Encode the sums; equal sums have equal bytes."""
        short = self.of(reports=self.reports, values=self.values) if self.entries.dtype == np.int64 else self
        head = _HEAD.pack(short.reports, short.counters, len(short.entries), short.entries.itemsize)
        return head + (b"" if short.places is None else short.places.tobytes()) + short.entries.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode what `to_bytes` has encoded.

        Raises:
            ValueError, IndexError, struct.error: the bytes are no such sums.
        """
        reports, counters, entries, size = _HEAD.unpack_from(data)
        if counters > MAX_COUNTERS or size not in (dtype.itemsize for dtype in _VALUES):
            raise ValueError(f"{counters} counters of {size} bytes each are announced, which no sums have")
        places = np.frombuffer(data, dtype=_INDEX, count=entries if entries < counters else 0, offset=_HEAD.size)
        written = np.frombuffer(data, dtype=f"<i{size}", offset=_HEAD.size + places.nbytes)
        if len(written) != entries:
            raise ValueError(f"{entries} entries are announced, there are {len(written)}")
        if entries == counters:
            return cls(reports=reports, counters=counters, entries=written)
        if len(places) != entries or int(places[-1:].sum()) >= counters or (places[1:] <= places[:-1]).any():
            raise ValueError(f"places of {entries} entries do not ascend to at most {counters - 1}")
        return cls(reports=reports, counters=counters, entries=written, places=places)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportSums):
            return NotImplemented
        return self.reports == other.reports and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]
