"""The nearest distribution to estimates, against the definition of norm-sub."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.mechanisms.simplex import on_simplex

estimates = st.lists(st.floats(-3, 3), min_size=1, max_size=8).map(np.array)


@given(estimates)
def test_it_is_a_distribution(weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    projected = on_simplex(weights)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-9)


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
