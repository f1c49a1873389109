"""A question counts the reports of its own window, and not those remembered."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_ldp.pipeline.question import Question
from stream_ldp.pipeline.statistics import ReportSums
from tests.client.examples import collection_of


def test_reports_are_those_of_the_window_itself_from_all_its_parts() -> None:
    two, three, remembered = (ReportSums(reports=n, values=np.zeros(1, dtype=np.int64)) for n in (2, 3, 100))
    question: Question[Any, Any] = Question(
        series=collection_of().estimates[0],
        window_ms=0,
        final=True,
        windows=((1.0, (two, three)), (0.5, (remembered,))),
        before=None,
    )
    assert question.reports == 5
