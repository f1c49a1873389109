"""How far a joint distribution is off, and whether its errors say so."""

import numpy as np
import pytest

from stream_ldp.evaluation.distance import average_variation_distance, coverage, joint_metrics, joint_of, width

TRUTH = np.array([[0.5, 0.2, 0.0], [0.0, 0.0, 0.3]])


def test_the_distance_is_half_the_sum_of_absolute_cell_differences() -> None:
    # |0.5-0.4| + |0.2-0.2| + |0-0.1| + |0-0.1| + |0-0.2| + |0.3-0| = 0.8
    joint = np.array([[0.4, 0.2, 0.1], [0.1, 0.2, 0.0]])
    assert average_variation_distance(joint, TRUTH) == pytest.approx(0.4)
    assert average_variation_distance(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1.0


def test_coverage_is_the_share_of_large_cells_within_their_interval() -> None:
    """Truth .5, .2 and .3 in three cells, of which one estimate is .05 off; an empty cell, .1 off, is not counted."""
    joint = np.array([[0.5, 0.25, 0.1], [0.0, 0.0, 0.3]])
    assert coverage(joint, np.full((2, 3), 0.02), TRUTH) == pytest.approx(2 / 3)
    assert coverage(joint, np.full((2, 3), 0.026), TRUTH) == 1.0


def test_coverage_is_that_of_the_largest_cells_where_none_has_a_hundredth() -> None:
    truth = np.full((20, 10), 1 / 200)
    assert coverage(truth + 0.01, np.full((20, 10), 0.004), truth) == 0.0
    assert coverage(truth + 0.01, np.full((20, 10), 0.006), truth) == 1.0


def test_the_width_is_1_where_errors_are_as_large_as_stated() -> None:
    """Of 100,000 cells, the mean absolute error is within 1 % of its expectation but for 1 seed in 10^4."""
    errors = np.random.default_rng(1).uniform(0.1, 1, 100_000)
    off = np.random.default_rng(2).normal(scale=errors)
    distance = average_variation_distance(off, np.zeros(100_000))
    assert width(errors, distance=distance) == pytest.approx(1, rel=0.01)
    assert width(2 * errors, distance=distance) == pytest.approx(2, rel=0.01)
    assert width(errors, distance=0.0) == 0.0
    assert joint_metrics(off, errors, np.zeros(100_000))["width"] == width(errors, distance=distance)


def test_a_joint_distribution_counts_records_by_cell() -> None:
    people = np.array([[0, 0]] * 5 + [[0, 1]] * 2 + [[1, 2]] * 3)
    np.testing.assert_array_equal(joint_of(people, (2, 3)), TRUTH)
