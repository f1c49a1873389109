"""The nearest distribution to estimates, against the definition of norm-sub."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.mechanisms.simplex import on_simplex

estimates = st.lists(st.floats(-3, 3), min_size=1, max_size=8).map(np.array)
noise = st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=8).map(np.array)


@given(estimates)
def test_it_is_a_distribution(weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    projected = on_simplex(weights)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-9)


@given(noise)
def test_no_share_is_beyond_0_and_1_however_large_the_noise_is(
    weights: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> None:
    projected = on_simplex(weights)
    assert projected.min() >= 0
    assert projected.max() <= 1
    assert projected.sum() == pytest.approx(1, abs=1e-9)


def test_a_share_of_all_is_1_and_not_more_by_rounding() -> None:
    assert on_simplex(np.array([-13.1, -21.7, -7.8])).tolist() == [0.0, 0.0, 1.0]
    assert on_simplex(np.array([1e18, 0.0, -1e18])).tolist() == [1.0, 0.0, 0.0]


@given(estimates)
def test_all_that_stay_positive_are_moved_by_the_same_and_the_others_are_at_most_as_large(
    weights: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> None:
    """The definition of norm-sub: subtract one number from all, and put what is negative to 0."""
    projected = on_simplex(weights)
    moved = (weights - projected)[projected > 0]
    assert moved == pytest.approx(np.full(len(moved), moved[0]), abs=1e-9)
    assert np.all(weights[projected == 0] <= moved[0] + 1e-9)


def test_a_distribution_stays_as_it_is() -> None:
    assert on_simplex(np.array([0.25, 0.75, 0.0])).tolist() == [0.25, 0.75, 0.0]
