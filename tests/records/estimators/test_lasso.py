"""LASSO in both forms: what each finds, and how far it may be from the likeliest joint."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.mechanisms import Support
from stream_ldp.records.estimators import Solution, estimator
from tests.records.estimators.examples import draw, expected_counts

CHANNEL = Support.of_bits(one=0.8, zero=0.3)


def solve(method: str, stop: str, counts: object, sizes: tuple[int, ...], channel: Support) -> Solution:
    return estimator(method, stop=stop, delta=0.001).estimate(counts, sizes=sizes, supports=[channel] * len(sizes))  # type: ignore[arg-type]


def test_the_papers_lasso_finds_the_marginals_and_not_the_dependence() -> None:
    truth = np.array([[0.05, 0.25, 0.1], [0.3, 0.1, 0.2]])
    counts = expected_counts(truth, channel=CHANNEL, reports=10_000)
    joint = solve("lasso", "paper", counts, (2, 3), CHANNEL).joint
    for axis in (0, 1):
        np.testing.assert_allclose(joint.sum(axis=axis), truth.sum(axis=axis), atol=0.01)
    assert np.abs(joint - truth).max() > 0.05


@pytest.mark.parametrize("shape", [(4,), (2, 3), (3, 2, 2)])
def test_our_lasso_finds_the_joint_of_pairs_and_what_pairs_imply(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)
    if len(shape) == 3:  # two attributes independent given the first: nothing beyond pairs
        first, *others = (rng.dirichlet(np.ones(size), size=None if j == 0 else 3) for j, size in enumerate(shape))
        truth = np.einsum("a,ab,ac->abc", first, *others)
    counts = expected_counts(truth, channel=CHANNEL, reports=1e7)
    np.testing.assert_allclose(solve("lasso", "certificate", counts, shape, CHANNEL).joint, truth, atol=0.005)


def test_the_papers_lasso_takes_no_iterations_and_bounds_its_gap_to_the_likeliest_joint() -> None:
    counts, channel = draw(np.array([[0.4, 0.1], [0.2, 0.3]]), 5_000, f=0.4, seed=2)
    solution = solve("lasso", "paper", counts, (2, 2), channel)
    likeliest = solve("em", "paper", counts, (2, 2), channel)
    assert solution.iterations == 0
    assert 0 < likeliest.log_likelihood - solution.log_likelihood <= solution.certificate
    assert not solution.certified


@pytest.mark.parametrize("reports", [1_000, 500_000])
def test_our_lasso_is_certified_by_its_own_duality_gap(reports: int) -> None:
    """The gap that would do for a thousand reports is too wide for half a million."""
    counts, channel = draw(np.array([[0.4, 0.1], [0.2, 0.3]]), reports, f=0.1, seed=2)
    solution = solve("lasso", "certificate", counts, (2, 2), channel)
    assert 0 <= solution.certificate <= solution.tolerance
    assert solution.certified
