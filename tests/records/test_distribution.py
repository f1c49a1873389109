"""Tests of marginals and conditionals, and of the bounds of their errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.records.distribution import Axis, distribution
from tests.client.examples import estimate_of

AXES = (
    Axis(attribute="a", values=("x", "y")),
    Axis(attribute="b", values=("p", "q", "r")),
    Axis(attribute="c", values=("0", "1")),
)


def test_a_marginal_sums_over_the_other_attributes_in_the_order_asked_for() -> None:
    joint = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(2, 3, 2)
    found = distribution(AXES, joint, np.zeros_like(joint), of=["c", "a"])
    np.testing.assert_allclose(found.probability, np.einsum("abc->ca", joint))
    assert [axis.attribute for axis in found.of] == ["c", "a"]
    assert found.bound


def test_a_conditional_sums_to_one_for_each_combination_that_is_given() -> None:
    joint = np.random.default_rng(2).dirichlet(np.ones(12)).reshape(2, 3, 2)
    found = distribution(AXES, joint, np.zeros_like(joint), of=["a"], given=["b"])
    expected = np.einsum("abc->ba", joint) / np.einsum("abc->b", joint)[:, None]
    np.testing.assert_allclose(found.probability, expected)
    assert [axis.attribute for axis in found.given] == ["b"]


def test_the_whole_joint_keeps_its_errors() -> None:
    estimate = estimate_of()
    whole = estimate.marginal("bathing", "mobility")
    np.testing.assert_array_equal(whole.standard_error, estimate.standard_errors())
    assert not whole.bound
    low, high = estimate.interval(0.5)
    np.testing.assert_allclose(high - low, 2 * 0.6745 * 0.01 * np.array([[1, 1, 1], [0.5, 1, 1]]), rtol=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_no_correlation_of_the_cells_gives_a_larger_error_than_the_bound(seed: int) -> None:
    """Errors of any covariance whose sum is 0, as probabilities sum to 1, to the first order."""
    generator = np.random.default_rng(seed)
    joint = generator.dirichlet(np.ones(12)).reshape(2, 3, 2)
    root = generator.normal(size=(12, 12)) * generator.choice([0.01, 1.0], size=12)[:, None]
    root -= root.mean(axis=0)
    covariance = root @ root.T
    errors = np.sqrt(np.diag(covariance)).reshape(joint.shape)

    def exact(gradient: np.ndarray) -> float:
        return math.sqrt(gradient.ravel() @ covariance @ gradient.ravel())

    marginal = distribution(AXES, joint, errors, of=["b"])
    conditional = distribution(AXES, joint, errors, of=["a"], given=["b"])
    for b in range(3):
        one = np.zeros_like(joint)
        one[:, b] = 1.0
        assert exact(one) <= marginal.standard_error[b] * (1 + 1e-9)
        for a in range(2):
            gradient = -one * conditional.probability[b, a] / joint[:, b].sum()
            gradient[a, b] += 1 / joint[:, b].sum()
            assert exact(gradient) <= conditional.standard_error[b, a] * (1 + 1e-9)


def test_the_sum_over_all_values_has_no_error() -> None:
    estimate = estimate_of(
        axes=(Axis(attribute="sex", values=("f", "m")), *estimate_of().axes[1:]),
    )
    bound = estimate.marginal("sex").standard_error
    np.testing.assert_allclose(bound, 0.03)
    uneven = estimate_of(standard_error=[[0.001] * 3, [0.2] * 3], effects=None)
    skewed = uneven.marginal("bathing").standard_error
    np.testing.assert_allclose(skewed, 0.003), "what one value gains the other loses"


def test_where_the_given_value_has_no_probability_nothing_is_known() -> None:
    estimate = estimate_of(probability=[[0.3, 0.3, 0.4], [0.0, 0.0, 0.0]])
    found = estimate.conditional("mobility", given="bathing")
    assert np.isnan(found.probability[1]).all()
    cells = list(found.cells())
    assert [cell.interval() is None for cell in cells] == [False] * 3 + [True] * 3


@pytest.mark.parametrize(
    ("of", "given", "problem"),
    [
        (["bath"], [], "did you mean 'bathing'"),
        (["bathing"], ["bathing"], "named twice"),
        (["bathing", "bathing"], [], "named twice"),
        ([], ["bathing"], "needs an attribute"),
    ],
)
def test_attributes_that_are_not_there_are_named(of: list[str], given: list[str], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        list(estimate_of().narrowed_to(of, given=given))
