"""Standard errors cover the truth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.evaluation.distance import average_variation_distance, coverage, joint_of, width
from stream_ldp.mechanisms import RRLDP, KRRSpec, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import Solution, estimator
from stream_ldp.records.estimators.em import CertifiedEM
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.prior import Prior
from stream_ldp.records.estimators.problem import Problem
from stream_ldp.records.estimators.standard_error import errors_of
from tests.records.estimators.examples import draw, solve

FloatArray = NDArray[np.float64]


@pytest.mark.parametrize("method", ["em", "lremh"])
def test_the_standard_error_covers_the_truth_of_the_users_who_reported(method: str) -> None:
    """95 % intervals, 60 draws x 10 cells: independent ones would cover fewer than 91 % of 600 once in 10^5 runs."""
    truth = np.array([[4, 12], [20, 35], [70, 86], [238, 114], [345, 76]], dtype=np.float64)
    truth /= truth.sum()
    covered, errors, stated = [], [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        cells = rng.choice(10, size=10_000, p=truth.ravel())
        users = np.bincount(cells, minlength=10).reshape(5, 2) / 10_000
        values = np.stack(np.unravel_index(cells, (5, 2)), axis=1)
        mechanism = RRLDP(sizes=(5, 2), f=0.25, p=0.25, q=0.75)
        counts = RowCounts.of(mechanism.perturb(values, entropy=SeededEntropy(seed)), bits=7)
        solution = solve(method, "certificate", counts, mechanism.channel(), (5, 2))
        covered.append(np.abs(solution.joint - users) <= 1.96 * solution.standard_error)
        errors.append((solution.joint - users) ** 2)
        stated.append(solution.standard_error**2)
    assert np.mean(covered) > 0.91
    # Nor wide for nothing: twice the error that there is would cover everything.
    assert 0.8 < np.sqrt(np.mean(stated) / np.mean(errors)) < 1.5


def test_the_error_of_a_cell_is_larger_by_the_ratio_of_its_noise() -> None:
    """Square error s^2 = P0^2 R S with the ratio R, that of what is hidden at least P / P0, and s P0 S / 2 beside.

    What is hidden of the dependence is at least its share of the variance where one attribute is a function.
    """
    truth = np.diag([0.25] * 4) + 4e-3
    counts, channel = draw(truth / truth.sum(), 20_000, f=0.25, seed=1)
    supports = (channel, channel)
    likelihood = Likelihood.of(counts, sizes=(4, 4), supports=supports)
    problem = Problem(counts=counts, supports=supports, likelihood=likelihood, prior=Prior.learn(likelihood))
    fit, basis = CertifiedEM().fit(problem, None), problem.prior.basis
    ratio, errors = basis.noise_ratios(likelihood, problem.prior.moments), problem.prior.cautious_errors
    share = basis.variances(errors)
    open_ = errors * (1.0 - problem.prior.resolved)
    hidden = basis.variances(open_)
    assert (ratio.max() > 2.0, ratio.min() < 1.0) == (True, True)
    least = np.maximum(ratio, 1.0)
    more = np.maximum(least, fit.joint / basis.product)
    square = basis.product**2 * (least * (share - hidden) + more * hidden)
    marginal = np.minimum.outer(*problem.prior.marginals)
    of_function = open_[1:, 1:].mean() / (1 / 3) * basis.product * (marginal - basis.product)
    spread = basis.product**2 * more * basis.variances(np.where(basis.order == 2, open_, 0.0))
    assert (of_function > spread).any()
    square += np.maximum(of_function - spread, 0.0)
    expected = square + 0.5 * np.sqrt(square) * basis.product * share
    np.testing.assert_allclose(errors_of(problem, fit).standard_error ** 2, expected, rtol=1e-9)


def test_errors_of_large_cells_match_those_made() -> None:
    """25 draws of four such cells: errors were 3.9 times as large as the distances."""
    truth = np.diag([0.25] * 4) + 4e-3
    truth /= truth.sum()
    distances, errors = [], []
    for seed in range(25):
        cells = np.random.default_rng(seed).choice(16, size=20_000, p=truth.ravel())
        users = np.bincount(cells, minlength=16).reshape(4, 4) / 20_000
        counts, channel = draw(truth, 20_000, f=0.25, seed=seed)
        solution = solve("em", "certificate", counts, channel, (4, 4))
        distances.append(np.diag(solution.joint - users))
        errors.append(np.diag(solution.standard_error))
    ratio = np.mean(errors) / np.sqrt(np.mean(np.square(distances)))
    assert 1.0 < ratio < 2.5


def test_the_error_of_a_cell_that_is_estimated_as_nothing_is_finite() -> None:
    """It was divided by the estimate: errors of probabilities have been above 1."""
    counts, channel = draw(np.diag([0.5, 0.3, 0.2]), 2_000, f=0.5, seed=1)
    supports = (channel, channel)
    likelihood = Likelihood.of(counts, sizes=(3, 3), supports=supports)
    problem = Problem(counts=counts, supports=supports, likelihood=likelihood, prior=Prior.learn(likelihood))
    fit = CertifiedEM().fit(problem, None)
    assert errors_of(problem, fit._replace(joint=np.eye(3) / 3 + 1e-300)).standard_error.max() < 0.5


@pytest.mark.parametrize("seen", [(0, 0, 0, 1, 0, 0, 0), (3, 0, 0, 0, 0, 0, 0), (0, 100, 0, 0), (1, 0, 2, 0, 0)])
@pytest.mark.parametrize("epsilon", [1.0, 2.17, 6.5])
def test_errors_of_few_reports_are_possible_ones_and_the_same_in_any_order_of_the_values(
    seen: tuple[int, ...], epsilon: float
) -> None:
    """Rounding was taken for what reports say of values that nobody has named: errors have been above 30,000."""
    sizes, channel = (len(seen),), KRRSpec(kind="k-rr", epsilon=epsilon).of(sizes=(len(seen),)).supports[0]

    def solved(order: NDArray[np.intp]) -> Solution:
        rows, counts = np.eye(len(seen), dtype=np.uint8), np.array(seen)[order]
        named = RowCounts(
            bits=len(seen),
            rows=np.packbits(rows[counts > 0], axis=1, bitorder="little"),
            counts=counts[counts > 0],
        )
        return solve("em", "certificate", named, channel, sizes)

    order = np.random.default_rng(1).permutation(len(seen))
    one, other = solved(np.arange(len(seen))), solved(order)
    assert (one.standard_error <= np.maximum(one.joint, 1.0 - one.joint)).all()
    np.testing.assert_allclose(other.standard_error, one.standard_error[order], atol=1e-6)


@pytest.mark.parametrize(
    ("truth", "reports", "f"),
    [
        # The example of README: the second attribute decides the first.
        (np.array([[0.25, 0.5, 0.0], [0.0, 0.0, 0.25]]), 2_700, 0.5),
        (np.array([[0.25, 0.5, 0.0], [0.0, 0.0, 0.25]]), 10_000, 0.5),
        # Two fair coins and whether they agree: no pair shows anything.
        (np.array([[[0.25, 0.0], [0.0, 0.25]], [[0.0, 0.25], [0.25, 0.0]]]), 10_000, 0.25),
        # Three fair coins and whether one or all of them are up: no triple shows anything.
        (np.indices((2, 2, 2, 2)).sum(axis=0) % 2 / 8, 40_000, 0.25),
    ],
)
def test_intervals_cover_strong_dependence_that_the_reports_do_not_show(
    truth: FloatArray, reports: int, f: float
) -> None:
    """25 draws: 0.98, 0.93, 0.96 and 0.98 of the cells. Errors of the noise alone cover 0.74, 0.73 and 0.17.

    Of the last, 0.39 were, when what reports say of pairs narrowed the errors of higher orders too.
    """
    covered = []
    for seed in range(25):
        cells = np.random.default_rng(seed).choice(truth.size, size=reports, p=truth.ravel())
        users = np.bincount(cells, minlength=truth.size).reshape(truth.shape) / reports
        counts, channel = draw(truth, reports, f=f, seed=seed, response=(0.5, 0.75))
        solution = solve("em", "certificate", counts, channel, truth.shape)
        covered.append(np.abs(solution.joint - users) <= 1.96 * solution.standard_error)
    assert np.mean(covered) > 0.9


def test_intervals_of_reports_that_tell_nothing_reach_just_beyond_the_strongest_dependence() -> None:
    """Of two fair coins, a cell may be 1/4 away from their product. Intervals have reached 0.62 to either side."""
    truth = np.full((2, 2), 0.25)
    counts, channel = draw(truth, 2_000, f=0.7, seed=1, response=(0.5, 0.75))
    solution = solve("em", "certificate", counts, channel, (2, 2))
    np.testing.assert_allclose(solution.joint, truth, atol=0.02)
    reach = 1.96 * solution.standard_error
    assert (reach.min() > 0.25, reach.max() < 0.45) == (True, True)


def test_intervals_of_few_users_cover_the_cells_that_the_prior_draws_to_nearly_nothing() -> None:
    """Of 40 draws of 250 users, the cells with 1 % of them and more."""
    truth = np.multiply.outer([0.72, 0.15, 0.08, 0.05], [0.8, 0.12, 0.05, 0.03])
    truth = 0.7 * truth + 0.3 * np.diag([0.7, 0.15, 0.1, 0.05])
    covered: list[bool] = []
    for seed in range(40):
        cells = np.random.default_rng(seed).choice(16, size=250, p=truth.ravel())
        users = np.bincount(cells, minlength=16).reshape(4, 4) / 250
        counts, channel = draw(truth, 250, f=0.5, seed=seed)
        solution = solve("em", "certificate", counts, channel, (4, 4))
        within = np.abs(solution.joint - users) <= 1.96 * solution.standard_error
        covered += within[users >= 0.01].tolist()
    assert np.mean(covered) > 0.93


def test_intervals_cover_the_few_cells_that_have_all_users() -> None:
    """Of 8 tables with 20 or 30 cells of 400, those with 1 % of the users: 0.75 of them were covered.

    If 0.95 of them were, as many of 160 as are independent, fewer than 0.87 would have a chance of 0.003 %.
    """
    covered: list[bool] = []
    for seed in range(8):
        rng = np.random.default_rng([9, seed])
        truth, held = np.zeros(400), 20 + 10 * (seed % 2)
        truth[rng.choice(400, held, replace=False)] = rng.dirichlet(np.ones(held))
        cells = rng.choice(400, size=4_000, p=truth)
        users = np.bincount(cells, minlength=400).reshape(4, 5, 4, 5) / 4_000
        mechanism = RRLDP(sizes=users.shape, f=0.5)
        values = np.stack(np.unravel_index(cells, users.shape), axis=1)
        reports = mechanism.perturb(values, entropy=SeededEntropy(seed))
        solution = estimator("em", stop="certificate", delta=0.001).estimate(
            RowCounts.of(reports, bits=mechanism.bits), sizes=users.shape, supports=mechanism.supports
        )
        within = np.abs(solution.joint - users) <= 1.96 * solution.standard_error
        covered += within[users >= 0.01].tolist()
    assert np.mean(covered) > 0.87


@pytest.mark.parametrize(("sizes", "users"), [((40, 2), 200), ((7,), 20), ((5, 3, 2), 5)])
def test_another_order_of_the_values_changes_no_estimate_and_no_error(sizes: tuple[int, ...], users: int) -> None:
    """Many values are named as often as others, and any rotation of their functions is an eigenfunction."""
    rng = np.random.default_rng(1)
    mechanism = KRRSpec(kind="k-rr", epsilon=5.0).of(sizes=sizes)
    named = [rng.integers(size, size=users) for size in sizes]
    orders = [rng.permutation(size) for size in sizes]

    def estimate(values: list[NDArray[np.intp]]) -> Solution:
        bits = [np.eye(size, dtype=np.uint8)[each] for size, each in zip(sizes, values, strict=True)]
        rows = np.packbits(np.concatenate(bits, axis=1), axis=1, bitorder="little")
        counts = RowCounts.of(rows, bits=sum(sizes))
        return estimator("em", stop="certificate", delta=0.001).estimate(
            counts, sizes=sizes, supports=mechanism.supports
        )

    first = estimate(named)
    second = estimate([np.argsort(order)[each] for order, each in zip(orders, named, strict=True)])
    place = np.ix_(*orders)
    np.testing.assert_allclose(second.joint, first.joint[place], atol=1e-12)
    np.testing.assert_allclose(second.standard_error, first.standard_error[place], atol=1e-7)


def test_errors_of_weak_dependence_under_strong_noise_are_narrower_than_cautious_ones() -> None:
    """20 tables of 5 x 5 values, nearly independent: cautious errors let expect 4.1 times the distance, these 3.1."""
    widths, covered = [], []
    for seed in range(20):
        rng = np.random.default_rng([5, seed])
        truth = np.outer(rng.dirichlet(np.full(5, 2.0)), rng.dirichlet(np.full(5, 2.0))) * rng.uniform(
            0.7, 1.3, (5, 5)
        )
        cells = rng.choice(25, size=4_000, p=truth.ravel() / truth.sum())
        users = np.bincount(cells, minlength=25).reshape(5, 5) / 4_000
        values = np.stack(np.unravel_index(cells, (5, 5)), axis=1)
        mechanism = RRLDP(sizes=(5, 5), f=0.75)
        counts = RowCounts.of(mechanism.perturb(values, entropy=SeededEntropy(seed)), bits=10)
        solution = solve("em", "certificate", counts, mechanism.channel(), (5, 5))
        distance = average_variation_distance(solution.joint, users)
        widths.append(width(solution.standard_error, distance=distance))
        covered.append(coverage(solution.joint, solution.standard_error, users))
    assert np.mean(widths) < 3.7
    assert np.mean(covered) > 0.92


def test_intervals_cover_attributes_that_nearly_copy_each_other_unseen_and_say_that_they_may() -> None:
    """Ten draws: 0.82 of the cells with 1 % of the users were covered, 0.90 are; the reports show no dependence."""
    place = np.arange(11)
    truth = (place[:, None] + 1.0) ** -1.5 * np.exp(-1.2 * np.abs(place[:, None] - place))
    covered = []
    for seed in range(10):
        rng = np.random.default_rng([11, seed])
        values = np.stack(np.unravel_index(rng.choice(121, 4_315, p=(truth / truth.sum()).ravel()), (11, 11)), axis=1)
        mechanism = RRLDP(sizes=(11, 11), f=0.5, p=0.5, q=0.75)
        counts = RowCounts.of(mechanism.perturb(values, entropy=SeededEntropy(seed)), bits=22)
        found = solve("em", "certificate", counts, mechanism.channel(), (11, 11))
        assert found.independence.may_be_function
        covered.append(coverage(found.joint, found.standard_error, joint_of(values, (11, 11))))
    assert np.mean(covered) > 0.88


def test_attributes_that_nearly_copy_each_other_are_said_to_be_functions() -> None:
    truth = np.diag([0.3, 0.2, 0.2, 0.2, 0.1])
    counts, channel = draw(truth, 5_000, f=0.5, seed=1)
    assert solve("em", "certificate", counts, channel, (5, 5)).independence.may_be_function
    counts, channel = draw(np.full((5, 5), 0.04) + 0.3 * (truth - 0.04), 5_000, f=0.5, seed=1)
    found = solve("em", "certificate", counts, channel, (5, 5)).independence
    assert (found.dependent, found.may_be_function) == (True, False)
