"""A tally that counts the reports of a frequency oracle as they come."""

from collections.abc import Mapping
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pipeline.statistics.report_sums import ReportSums
from stream_ldp.pipeline.statistics.sending import STATISTIC_BYTES, times_sent
from stream_ldp.pipeline.statistics.statistic import Statistic, StatisticLoad, WholeTally


class _Oracle(Protocol):
    """The part of a frequency oracle that the tally needs."""

    @property
    def counters(self) -> int: ...

    def add(self, rows: NDArray[np.uint8], *, to: NDArray[np.int64]) -> None: ...

    def possible(self, sums: NDArray[np.int64], *, reports: NDArray[np.int64]) -> bool: ...


class SumTally(WholeTally):
    """The sums of the reports to one phase in one pane."""

    def __init__(self, oracle: _Oracle) -> None:
        self._oracle = oracle
        self._values = np.zeros(oracle.counters, dtype=np.int64)
        super().__init__(self._values.nbytes)

    def update(self, rows: NDArray[np.uint8]) -> None:
        """Count packed rows, uint8, shape (n, width), all of them valid."""
        self._oracle.add(rows, to=self._values)
        self._reports += len(rows)

    def _statistic(self) -> ReportSums:
        return ReportSums.of(reports=self._reports, values=self._values)

    def restore(self, segments: Mapping[int, Statistic]) -> None:
        """See `Tally.restore`."""
        if segments.keys() != {0} or not self.fits(segments[0]):
            raise ValueError("not the sums of this oracle")
        sums = cast("ReportSums", segments[0])
        self._values += sums.values
        self._reports = sums.reports

    def load(self, *, reports: int, flushes: int) -> StatisticLoad:
        """See `Tally.load`: each sum has as many bytes as one of all reports needs."""
        size = next(size for size in (1, 2, 4, 8) if reports < 2 ** (8 * size - 1))
        times = times_sent(self._values.nbytes, reports=reports, flushes=flushes)
        nbytes = STATISTIC_BYTES + size * len(self._values)
        return StatisticLoad(memory=self._values.nbytes, records=times, sent=times * nbytes)

    def fits(self, statistic: Statistic) -> bool:
        """Decide whether a statistic has sums of as many counters, which so many reports can have."""
        return statistic.adds_up(self._oracle.counters, possible=self._oracle.possible)
