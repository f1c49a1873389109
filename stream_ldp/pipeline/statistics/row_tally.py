"""A tally that counts rows as they come, in segments that fit a record."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.statistics.row_counts import RowCounts
from stream_ldp.pipeline.statistics.row_table import TABLE_BITS, RowTable
from stream_ldp.pipeline.statistics.sending import STATISTIC_BYTES, times_sent
from stream_ldp.pipeline.statistics.statistic import Statistic, StatisticLoad, Tally, WholeTally, merged

#: Bytes of a segment of wide rows, a quarter of Kafka's default record limit of 1 MB. A flush sends again only the
#: segments that have changed.
SEGMENT_BYTES = 2**18

_COUNT_BYTES = 4

#: Bytes of a table beside its counts, and those that zlib takes to say where the next row is that has a report, where
#: most rows have none.
FRAME_BYTES, PLACE_BYTES = 20, 2.2


#: Rows are few if so many times as many are fewer than the counts of a table, which a bincount adds up all.
_FEW = 8


def tally_of_rows(bits: int, *, valid: Callable[[NDArray[np.uint8]], NDArray[np.bool_]] | None = None) -> Tally:
    """Make an empty tally of rows.

    valid: decides which packed rows are reports, bool, shape (n,); by default, all of them are.
    """
    return TableTally(bits, valid=valid) if bits <= TABLE_BITS else SegmentTally(bits, valid=valid)


class _RowTally:
    """What tallies of rows have in common."""

    _bits: int
    _valid: Callable[[NDArray[np.uint8]], NDArray[np.bool_]] | None

    def fits(self, statistic: Statistic) -> bool:
        """See `Tally.fits`; the rows that occur in a table may also stand one by one."""
        return statistic.counts_rows(self._bits, valid=self._valid)


class TableTally(_RowTally, WholeTally):
    """Rows of few bits, counted in a table of all of them."""

    def __init__(self, bits: int, *, valid: Callable[[NDArray[np.uint8]], NDArray[np.bool_]] | None = None) -> None:
        """Begin without rows; see `tally_of_rows`."""
        self._bits, self._valid = bits, valid
        self._counts = np.zeros(2**bits, dtype=np.int64)
        super().__init__(self._counts.nbytes)

    def update(self, rows: NDArray[np.uint8]) -> None:
        """Count packed rows, uint8, shape (n, ceil(bits / 8))."""
        if not len(rows):
            return
        patterns = self._patterns(rows)
        if _FEW * len(patterns) < len(self._counts):
            np.add.at(self._counts, patterns.astype(np.intp), 1)
        else:
            self._counts += np.bincount(patterns, minlength=len(self._counts))
        self._reports += len(rows)

    def add(self, counts: NDArray[np.int64]) -> None:
        """Add rows that have been counted: the number of each pattern, int64, shape (2^bits,)."""
        self._counts += counts
        self._reports += int(counts.sum())

    def _statistic(self) -> RowTable:
        return RowTable.of(self._counts, bits=self._bits)

    def restore(self, segments: Mapping[int, Statistic]) -> None:
        """See `Tally.restore`."""
        if segments.keys() != {0} or not self.fits(segments[0]):
            raise ValueError(f"not a table of rows of {self._bits} bits")
        (rows,) = cast("Sequence[RowCounts]", merged([segments[0]]))
        self._counts[self._patterns(rows.rows)] += rows.counts.astype(np.int64)
        self._reports = int(self._counts.sum())

    @staticmethod
    def _patterns(rows: NDArray[np.uint8]) -> NDArray[np.unsignedinteger]:
        return np.ascontiguousarray(rows).view(f"<u{rows.shape[1]}")[:, 0]

    def load(self, *, reports: int, flushes: int) -> StatisticLoad:
        """See `Tally.load`.

        The noise of the counts cannot be compressed: with a mean of m, it has log2(2 pi e (m + 1)) / 2 bits each, the
        entropy of a normal variable of variance m + 1. Where most rows have none, each report takes its place.
        """
        counters = len(self._counts)
        bits = math.log2(2 * math.pi * math.e * (reports / counters + 1)) / 2
        times = times_sent(self._counts.nbytes, reports=reports, flushes=flushes)
        nbytes = STATISTIC_BYTES + FRAME_BYTES + math.ceil(min(counters * bits / 8, PLACE_BYTES * reports))
        return StatisticLoad(memory=self._counts.nbytes, records=times, sent=times * nbytes)


class SegmentTally(_RowTally):
    """Rows of any number of bits, counted in segments.

    Segment k holds rows k * n to (k + 1) * n - 1 of the sequence of rows: a pure function of that sequence, however
    it is cut into batches.
    """

    def __init__(self, bits: int, *, valid: Callable[[NDArray[np.uint8]], NDArray[np.bool_]] | None = None) -> None:
        """Begin without rows; see `tally_of_rows`."""
        self._bits, self._valid = bits, valid
        self._capacity = SEGMENT_BYTES // (row_width(bits) + _COUNT_BYTES)
        self._segment = 0
        self._open: list[NDArray[np.uint8]] = []
        self._filled = 0
        self._dirty: dict[int, RowCounts | None] = {}

    def update(self, rows: NDArray[np.uint8]) -> None:
        """Count packed rows, uint8, shape (n, ceil(bits / 8))."""
        while len(rows):
            part = rows[: self._capacity - self._filled]
            rows = rows[len(part) :]
            self._open.append(part)
            self._filled += len(part)
            self._dirty[self._segment] = None
            if self._filled == self._capacity:
                self._dirty[self._segment] = self._current()
                self._segment, self._open, self._filled = self._segment + 1, [], 0

    whole = None

    def take_changed(self, *, closing: bool) -> Mapping[int, RowCounts]:  # noqa: ARG002
        """Return the segments that have changed since the last call, and drop those that are full."""
        changed = {segment: full or self._current() for segment, full in self._dirty.items()}
        self._dirty.clear()
        return changed

    def restore(self, segments: Mapping[int, Statistic]) -> None:
        """See `Tally.restore`: all but the last are full."""
        found = [segments[number] for number in range(len(segments)) if number in segments]
        rows = [cast("RowCounts", each) for each in found if self.fits(each)]
        full = [each.reports == self._capacity for each in rows]
        if len(rows) < max(1, len(segments)) or not all(full[:-1]) or rows[-1].reports > self._capacity:
            raise ValueError(f"not the segments of rows of {self._bits} bits")
        self._dirty = dict(enumerate(rows[:-1]))
        self._segment = len(rows) - 1
        self.update(np.repeat(rows[-1].rows, rows[-1].counts.astype(np.int64), axis=0))

    def load(self, *, reports: int, flushes: int) -> StatisticLoad:
        """See `Tally.load`: the open segment, which is half full on average, is sent with each flush."""
        size = row_width(self._bits) + _COUNT_BYTES
        held = size * min(reports, self._capacity)
        records = min(flushes, reports)
        return StatisticLoad(
            memory=held, records=records, sent=records * (STATISTIC_BYTES + held // 2) + size * reports
        )

    def _current(self) -> RowCounts:
        self._open = [np.concatenate(self._open)]
        return RowCounts.of(self._open[0], bits=self._bits)
