"""A question counts the reports of its own window, and not those remembered; it loses none of either."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_ldp.pipeline.question import Question
from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from tests.client.examples import collection_of


def sums(reports: int) -> ReportSums:
    return ReportSums(reports=reports, values=np.zeros(1, dtype=np.int64))


@pytest.fixture
def question() -> Question[Any, Any]:
    return Question(
        series=collection_of().estimates[0],
        window_ms=0,
        final=True,
        windows=((1.0, (sums(2), sums(3))), (0.5, (sums(100),))),
        before=None,
    )


def test_reports_are_those_of_the_window_itself_from_all_its_parts(question: Question[Any, Any]) -> None:
    assert question.reports == 5


def test_counts_of_another_statistic_are_refused_and_not_left_out(question: Question[Any, Any]) -> None:
    assert question.counts(ReportSums) == question.windows
    with pytest.raises(TypeError, match=r"bathing-mobility is answered from RowCounts, .* holds ReportSums"):
        question.counts(RowCounts)
