"""Tests of the sums of the windows of a question."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_ldp.pipeline.question import Question
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.weighted_sums import WeightedReports, weighted_sums
from tests.sampled.examples import collection_of


def test_parts_are_added_up_window_by_window_and_a_window_without_reports_is_0() -> None:
    parts = tuple(ReportSums(reports=2, values=np.array(values)) for values in ([1, 2, 3], [10, 20, 30]))
    (series,) = collection_of().series
    question: Question[Any, Any] = Question(
        series=series, window_ms=0, final=True, windows=((1.0, parts), (0.5, ())), before=None
    )
    (first, current), (second, before) = weighted_sums(question, counters=3)
    assert (first, second) == (1.0, 0.5)
    assert current.tolist() == [11, 22, 33]
    assert before.tolist() == [0, 0, 0]


def test_reports_of_half_the_weight_say_less_than_as_many_of_equal_weight() -> None:
    assert WeightedReports.of([(1.0, 60)]).effective == 60
    assert WeightedReports.of([(0.5, 60), (0.5, 40)]).effective == 100
    assert WeightedReports.of([(1.0, 60), (0.5, 40)]).effective == pytest.approx(80**2 / 70)
    assert WeightedReports.of([(1.0, 0), (0.5, 0)]) == (0.0, 0.0)
    assert WeightedReports.of([]).effective == 0.0


def test_reports_of_users_who_repeat_one_answer_say_as_much_as_one_of_each() -> None:
    once, often = (
        WeightedReports.of([(1.0, 60), (0.5, 40)]),
        WeightedReports.of([(1.0, 180), (0.5, 120)], reports_per_user=3.0),
    )
    assert often.effective == pytest.approx(once.effective)
    assert often.scale == pytest.approx(once.scale / 3.0)
