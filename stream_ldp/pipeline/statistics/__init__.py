"""Mergeable sufficient statistics of reports."""

from stream_ldp.pipeline.statistics.report_sums import SUM_BYTES, ReportSums
from stream_ldp.pipeline.statistics.row_counts import RowCounts, row_width
from stream_ldp.pipeline.statistics.row_tally import RowTally
from stream_ldp.pipeline.statistics.statistic import Statistic, Tally
from stream_ldp.pipeline.statistics.sum_tally import SumTally

__all__ = ["SUM_BYTES", "ReportSums", "RowCounts", "RowTally", "Statistic", "SumTally", "Tally", "row_width"]
