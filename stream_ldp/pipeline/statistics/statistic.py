"""The types of statistics, and the interface of the tallies that count them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from stream_ldp.pipeline.statistics.report_sums import ReportSums
from stream_ldp.pipeline.statistics.row_counts import RowCounts
from stream_ldp.pipeline.statistics.row_table import RowTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Statistic = RowCounts | RowTable | ReportSums


def merged(parts: Sequence[Statistic]) -> tuple[RowCounts | ReportSums, ...]:
    """Return the same counts with all tables of rows added up, as the rows that occur in them."""
    tables = [part for part in parts if isinstance(part, RowTable)]
    others = tuple(part for part in parts if not isinstance(part, RowTable))
    return (RowTable.sum(tables).distinct(), *others) if tables else others


class Tally(Protocol):
    """A statistic that is counted as reports come."""

    def update(self, rows: NDArray[np.uint8]) -> None:
        """Count packed rows, uint8, shape (n, width)."""
        ...

    def take_changed(self, *, closing: bool) -> Mapping[int, Statistic]:
        """Return the segments of the statistic that have changed since the last call and are worth sending.

        closing: whether this is the last call, which must leave out no report.
        """
        ...

    def fits(self, statistic: Statistic) -> bool:
        """Decide whether a statistic, of any number of reports below 2^63, can be one that this tally gives."""
        ...
