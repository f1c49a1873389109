"""A tally that counts rows as they come, in segments that fit a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.pipeline.statistics.row_counts import RowCounts, row_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.pipeline.statistics.statistic import Statistic

#: Rows up to this width are counted in a dense table: 2^16 counters take 512 KiB and a record of at most 393 KB.
DENSE_BITS = 16

#: Bytes of a segment of wider rows, a quarter of Kafka's default record limit of 1 MB. A flush sends again only the
#: segments that have changed.
SEGMENT_BYTES = 2**18

_COUNT_BYTES = 4


class RowTally:
    """The rows of one estimate's attributes, counted in segments.

    Segment k holds rows k * n to (k + 1) * n - 1 of the sequence of rows: a pure function of that sequence, however
    it is cut into batches. Narrow rows have one segment only.
    """

    def __init__(self, bits: int, *, valid: Callable[[NDArray[np.uint8]], NDArray[np.bool_]] | None = None) -> None:
        """Begin without rows.

        valid: decides which packed rows are reports, bool, shape (n,); by default, all of them are.
        """
        self._bits = bits
        self._valid = valid
        self._dense = np.zeros(2**bits, dtype=np.int64) if bits <= DENSE_BITS else None
        self._capacity = SEGMENT_BYTES // (row_width(bits) + _COUNT_BYTES)
        self._segment = 0
        self._open: list[NDArray[np.uint8]] = []
        self._filled = 0
        self._dirty: dict[int, RowCounts | None] = {}

    def update(self, rows: NDArray[np.uint8]) -> None:
        """Count packed rows, uint8, shape (n, ceil(bits / 8))."""
        if not len(rows):
            return
        if self._dense is not None:
            patterns = np.ascontiguousarray(rows).view(f"<u{rows.shape[1]}")[:, 0]
            if len(patterns) < len(self._dense):
                np.add.at(self._dense, patterns, 1)
            else:
                self._dense += np.bincount(patterns, minlength=len(self._dense))
            self._dirty[0] = None
            return
        while len(rows):
            part = rows[: self._capacity - self._filled]
            rows = rows[len(part) :]
            self._open.append(part)
            self._filled += len(part)
            self._dirty[self._segment] = None
            if self._filled == self._capacity:
                self._dirty[self._segment] = self._current()
                self._segment, self._open, self._filled = self._segment + 1, [], 0

    def take_changed(self, *, closing: bool) -> dict[int, RowCounts]:  # noqa: ARG002
        """Return the segments that have changed since the last call, and drop those that are full."""
        changed = {segment: full or self._current() for segment, full in self._dirty.items()}
        self._dirty.clear()
        return changed

    def fits(self, statistic: Statistic) -> bool:
        """Decide whether a statistic counts rows of as many bits, each at least once, that are reports."""
        if not isinstance(statistic, RowCounts) or statistic.bits != self._bits:
            return False
        if not len(statistic.rows):
            return True
        spare = self._bits % 8
        if (statistic.counts <= 0).any() or (spare and (statistic.rows[:, -1] >> spare).any()):
            return False
        return self._valid is None or bool(self._valid(statistic.rows).all())

    def _current(self) -> RowCounts:
        if self._dense is not None:
            return RowCounts.of_patterns(self._dense, bits=self._bits)
        self._open = [np.concatenate(self._open)]
        return RowCounts.of(self._open[0], bits=self._bits)
