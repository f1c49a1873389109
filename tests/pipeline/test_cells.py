"""Tests of single numbers with their intervals."""

import math

import pytest
from scipy.stats import norm

from stream_ldp.errors import ParameterError
from stream_ldp.pipeline.cells import Cell, normal_quantile


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_a_normal_variable_is_within_the_quantile_as_often_as_the_level_says(level: float) -> None:
    z = normal_quantile(level)
    assert norm.cdf(z) - norm.cdf(-z) == pytest.approx(level)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, -0.1, math.nan])
def test_a_level_that_is_no_probability_is_refused(level: float) -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        normal_quantile(level)


def test_an_interval_stays_within_what_the_number_can_be() -> None:
    cell = Cell(labels={}, estimate=0.01, standard_error=0.1)
    assert cell.interval() == pytest.approx((0.0, 0.01 + 1.96 * 0.1), abs=1e-4)
    age = Cell(labels={}, estimate=99.0, standard_error=1.0, range=(0.0, 100.0))
    assert age.interval() == pytest.approx((97.04, 100.0), abs=0.01)


def test_an_interval_is_around_the_unbiased_estimate() -> None:
    below = Cell(labels={}, estimate=0.0, raw=-0.1, standard_error=0.1)
    assert below.interval() == pytest.approx((0.0, 0.096), abs=1e-3)
    far_below = Cell(labels={}, estimate=0.0, raw=-0.5, standard_error=0.1)
    assert far_below.interval() == (0.0, 0.0)


def test_a_number_without_an_error_or_an_estimate_has_no_interval() -> None:
    assert Cell(labels={}, estimate=0.5, standard_error=None).interval() is None
    assert Cell(labels={}, estimate=math.nan, standard_error=math.nan).interval() is None
