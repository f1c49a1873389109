"""Counting the reports of a frequency oracle as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from stream_ldp.pipeline.statistics.report_sums import ReportSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SumTally"]

#: Sums of up to so many bytes are sent whenever they have changed. Larger ones have to have grown by a tenth, so that
#: a pane of a million reports sends megabytes a hundred times, not twice a second.
_SMALL_BYTES = 2**18
_GROWTH = 1.1


class _Adds(Protocol):
    @property
    def counters(self) -> int: ...

    def sums(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]: ...


class SumTally:
    """Sums of one phase's answers in one pane."""

    def __init__(self, oracle: _Adds) -> None:
        self._oracle = oracle
        self._values = np.zeros(oracle.counters, dtype=np.int64)
        self._reports = 0
        self._taken = 0

    def update(self, rows: NDArray[np.uint8]) -> None:
        """Count packed rows, uint8, shape (n, width), all of them valid."""
        self._values += self._oracle.sums(rows)
        self._reports += len(rows)

    def take_changed(self, *, closing: bool) -> dict[int, ReportSums]:
        """The sums, as the only segment, if they have changed since the last call and are worth sending.

        closing: whether this is the last call, when every report counts.
        """
        if self._reports == self._taken:
            return {}
        small = self._values.nbytes <= _SMALL_BYTES
        if not (small or closing or self._reports >= _GROWTH * self._taken):
            return {}
        self._taken = self._reports
        return {0: ReportSums(reports=self._reports, values=self._values.copy())}
