"""Mergeable sufficient statistics of reports."""

from stream_ldp.statistics.row_counts import RowCounts, row_width
from stream_ldp.statistics.row_tally import RowTally

__all__ = ["RowCounts", "RowTally", "row_width"]
