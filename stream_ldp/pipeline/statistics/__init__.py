"""Mergeable sufficient statistics of reports."""

from stream_ldp.pipeline.statistics.groups import take_changed
from stream_ldp.pipeline.statistics.report_sums import SUM_BYTES, ReportSums
from stream_ldp.pipeline.statistics.row_counts import RowCounts
from stream_ldp.pipeline.statistics.row_table import RowTable
from stream_ldp.pipeline.statistics.row_tally import tally_of_rows
from stream_ldp.pipeline.statistics.sending import Room
from stream_ldp.pipeline.statistics.statistic import Statistic, Tally, merged
from stream_ldp.pipeline.statistics.sum_tally import SumTally

__all__ = [
    "SUM_BYTES",
    "ReportSums",
    "Room",
    "RowCounts",
    "RowTable",
    "Statistic",
    "SumTally",
    "Tally",
    "merged",
    "take_changed",
    "tally_of_rows",
]
