"""What every statistic and every tally has in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from stream_ldp.pipeline.statistics.report_sums import ReportSums
from stream_ldp.pipeline.statistics.row_counts import RowCounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Statistic", "Tally"]

Statistic = RowCounts | ReportSums


class Tally(Protocol):
    """Reports that are counted as they come."""

    def update(self, rows: NDArray[np.uint8]) -> None:
        """Count packed rows, uint8, shape (n, width)."""
        ...

    def take_changed(self, *, closing: bool) -> Mapping[int, Statistic]:
        """The statistic's segments that have changed since the last call and are worth sending.

        closing: whether this is the last call, when every report counts.
        """
        ...
