"""Curves: shares, means and quantiles, with errors that propagate."""

import numpy as np
import pytest

from stream_ldp.pipeline.curve import Curve, components

POINTS = [0.0, 10.0, 20.0, 30.0]
CURVE = Curve.of(POINTS, [0.1, 0.4, 0.4, 0.1], [[0.02, 0.0, 0.01], [0.0, 0.03, 0.0]])


def test_probability_spreads_over_the_cell_of_its_point() -> None:
    assert CURVE.edges.tolist() == [0, 5, 15, 25, 30]
    assert CURVE.share(0, 30) == pytest.approx((1.0, 0.0))
    assert CURVE.share(5, 15)[0] == pytest.approx(0.4)
    assert CURVE.share(10, 20)[0] == pytest.approx(0.4)
    assert CURVE.share(0, 5) == pytest.approx((0.1, 0.02))
    assert CURVE.share(5, 15)[1] == pytest.approx(np.hypot(0.02, 0.03))


def test_the_mean_of_a_range_is_that_of_the_numbers_in_it() -> None:
    assert CURVE.mean(0, 30) == pytest.approx((15.0, np.hypot(0.225, 0.3)))
    found = CURVE.mean(5, 25)
    assert found is not None
    assert found[0] == pytest.approx(15.0)
    assert Curve.of(POINTS, [1, 0, 0, 0], []).mean(10, 20) is None


def test_quantiles_are_where_the_curve_has_their_share() -> None:
    assert CURVE.quantile(0.5) == pytest.approx(15.0)
    assert CURVE.quantile(0.3) == pytest.approx(10.0)
    low, high = CURVE.quantile_interval(0.5, 0.95)
    assert low < 15 < high
    for end, sign in ((low, 1), (high, -1)):
        share, error = CURVE.share(0, end)
        assert share + sign * 1.96 * error == pytest.approx(0.5, abs=0.01)
    narrow = CURVE.quantile_interval(0.5, 0.5)
    assert low < narrow[0] < narrow[1] < high


def test_quantiles_beyond_what_is_known_end_with_the_range() -> None:
    unsure = Curve.of(POINTS, [0.25] * 4, [[0.5, 0.5, 0.5]])
    assert unsure.quantile_interval(0.95, 0.95)[1] > 29


def test_components_give_the_covariance_back() -> None:
    root = np.random.default_rng(2).normal(size=(5, 5))
    centred = root - root.mean(axis=0)
    covariance = centred @ centred.T
    found = components(covariance)
    assert found.T @ found == pytest.approx(covariance.cumsum(axis=0).cumsum(axis=1)[:-1, :-1], abs=2e-2)
    assert components(np.zeros((4, 4))).shape == (0, 3)


def test_components_keep_small_errors_beside_large_ones() -> None:
    """As at a peak whose place is unsure: a share with an error of 0.3 among others of 0.001."""
    deviations = np.diff([[0.3, 0, 0, 0], [0, 0.001, 0, 0], [0, 0, 0.001, 0], [0, 0, 0, 0.001]], prepend=0, append=0)
    found = components(deviations.T @ deviations)
    assert np.sqrt((found**2).sum(axis=0)) == pytest.approx([0.3, 0.001, 0.001, 0.001])


def test_the_curve_jumps_at_numbers_that_users_share() -> None:
    """Ten and twenty are shared by 0.3 and 0.2; the rest spreads over cells around 0, 10 and 30."""
    points, exact = [0.0, 10.0, 10.0, 20.0, 30.0], [False, False, True, True, False]
    curve = Curve.of(points, [0.1, 0.2, 0.3, 0.2, 0.2], [[0.0, 0.0, 0.02, 0.0]], exact=exact)
    assert curve.at(np.array([0.0, 10.0, 20.0, 30.0]))[0] == pytest.approx([0.0, 0.1 + 0.2 / 3, 0.6, 1.0])
    assert curve.at(np.array([10.0, 20.0]), side="right")[0] == pytest.approx([0.4 + 0.2 / 3, 0.8])
    assert curve.at_bounds(np.array([0.0, 10.0, 30.0]))[0] == pytest.approx([0.0, 0.1 + 0.2 / 3, 1.0])
    assert curve.share(10, 20) == pytest.approx((0.3 + 0.2 * 2 / 3 + 0.2, 0.0), abs=1e-12)
    assert curve.share(10, 10) == pytest.approx((0.3, 0.02))
    assert curve.mean(20, 20) == pytest.approx((20.0, 0.0))
    assert [curve.quantile(each) for each in (0.2, 0.45, 0.7)] == [10.0, 10.0, 20.0]
