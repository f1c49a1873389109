"""Errors know how many users may have a value that nobody has named."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import KRRSpec, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import Solution, estimator
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.prior import Prior
from stream_ldp.records.estimators.rare_values import RareValues

FloatArray = NDArray[np.float64]


def solve(named: NDArray[np.intp], *, sizes: tuple[int, ...], epsilon: float) -> Solution:
    """Estimate from the values that reports name, shape (reports, attributes)."""
    codes = [np.eye(size, dtype=np.uint8)[column] for size, column in zip(sizes, named.T, strict=True)]
    rows = np.packbits(np.concatenate(codes, axis=1), axis=1, bitorder="little")
    supports = KRRSpec(kind="k-rr", epsilon=epsilon).of(sizes=sizes).supports
    counts = RowCounts.of(rows, bits=sum(sizes))
    return estimator("em", stop="certificate", delta=0.001).estimate(counts, sizes=sizes, supports=supports)


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
@pytest.mark.parametrize("users", [20, 1_000])
def test_a_value_that_no_report_names_has_the_error_of_the_users_who_may_have_named_another(
    size: int, epsilon: float, users: int
) -> None:
    """Each of them names the other with e^-epsilon of its probability: a geometric number of them is plausible."""
    ratio = math.exp(-epsilon)
    plausible = math.sqrt(ratio * (1.0 + ratio)) / (1.0 - ratio) / users
    found = solve(np.zeros((users, 1), dtype=np.intp), sizes=(size,), epsilon=epsilon).standard_error
    assert found[1:] == pytest.approx(np.full(size - 1, plausible), rel=0.5)
    # The named value may be less by as much as all others may be more.
    assert plausible / 1.5 <= found[0] <= 1.5 * plausible * (size - 1)


def test_errors_of_a_rare_value_cover_the_users_who_have_it() -> None:
    """95 % intervals of 200 draws: independent ones would cover fewer than 88 % of them once in 10^4 runs."""
    mechanism = KRRSpec(kind="k-rr", epsilon=4.0).of(sizes=(2,))
    covered = []
    for seed in range(200):
        values = (np.random.default_rng(seed).random((200, 1)) < 0.05).astype(np.intp)
        named = np.unpackbits(mechanism.perturb(values, entropy=SeededEntropy(seed)), axis=1, bitorder="little")
        solution = solve(named[:, :1].astype(np.intp), sizes=(2,), epsilon=4.0)
        covered.append(abs(solution.joint[1] - values.mean()) <= 1.96 * solution.standard_error[1])
    assert np.mean(covered) > 0.88


def test_a_cell_is_no_further_off_than_all_who_may_have_one_of_its_values() -> None:
    named = np.array([[0, 0], [0, 1], [0, 2]] * 100)
    solution = solve(named, sizes=(3, 3), epsilon=3.0)
    alone = solve(named[:, :1], sizes=(3,), epsilon=3.0)
    bound = np.hypot(alone.joint[1:], alone.standard_error[1:])
    assert (solution.standard_error[1:] <= 1.1 * np.hypot(solution.joint[1:], bound[:, None])).all()
    # Nor nearer than if these users had the other attribute's values as all do.
    assert (solution.standard_error[1:] >= 0.5 * alone.standard_error[1:, None] / math.sqrt(3)).all()


def test_reports_without_noise_leave_nothing_open() -> None:
    counts = RowCounts.of(
        np.packbits(np.eye(3, dtype=np.uint8)[[0] * 90 + [1] * 10], axis=1, bitorder="little"), bits=3
    )
    supports = KRRSpec(kind="k-rr", epsilon=20.0).of(sizes=(3,)).supports
    likelihood = Likelihood.of(counts, sizes=(3,), supports=supports)
    prior = Prior.learn(likelihood)
    rare = RareValues.of(np.array([0.9, 0.1, 0.0]), prior.marginals, prior.share_errors)
    assert (np.sqrt(rare.least) < 1e-5).all()
