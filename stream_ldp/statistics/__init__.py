"""Mergeable sufficient statistics of reports."""

from stream_ldp.statistics.row_counts import RowCounts, row_width

__all__ = ["RowCounts", "row_width"]
