"""Tests of how much the reports of several windows say together."""

import pytest

from stream_ldp.filtering.weighted_reports import WeightedReports


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
