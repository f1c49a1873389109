"""A question counts the reports of its own window, and not those remembered; it loses none of either."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from tests.client.examples import collection_of


def sums(reports: int) -> ReportSums:
    return ReportSums(reports=reports, values=np.zeros(1, dtype=np.int64))


@pytest.fixture
def task() -> WindowTask[Any, Any]:
    return WindowTask(
        series=collection_of().estimates[0],
        window_ms=0,
        final=True,
        windows=((1.0, (sums(2), sums(3))), (0.5, (sums(100),))),
        before=None,
    )


def test_reports_are_those_of_the_window_itself_from_all_its_parts(task: WindowTask[Any, Any]) -> None:
    assert task.reports == 5


def test_counts_of_another_statistic_are_refused_and_not_left_out(task: WindowTask[Any, Any]) -> None:
    assert task.counts(ReportSums) == task.windows
    with pytest.raises(TypeError, match=r"bathing-mobility is answered from RowCounts, .* holds ReportSums"):
        task.counts(RowCounts)
