"""One suite for all estimators: brute force, certificate, gate, warm start, and the cost of an iteration."""

from __future__ import annotations

import csv
import gzip
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import RRLDP, SeededEntropy, Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import Solution
from stream_ldp.records.estimators.likelihood import Likelihood
from tests.paths import DATA
from tests.records.estimators.examples import latent, solve

METHODS = ("em", "lasso", "lremh")
FORMS = list(product(METHODS, ("certificate", "paper")))

FloatArray = NDArray[np.float64]


def draw(
    joint: FloatArray, reports: int, *, f: float, seed: int, response: bool = False
) -> tuple[RowCounts, Support]:
    """Draw reports of users from a joint, and count them."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(joint.size, size=reports, p=joint.ravel())
    values = np.stack(np.unravel_index(cells, joint.shape), axis=1)
    mechanism = RRLDP(sizes=joint.shape, f=f, p=0.5 if response else None, q=0.75 if response else None)
    rows = mechanism.perturb(values, entropy=SeededEntropy(seed))
    return RowCounts.of(rows, bits=mechanism.bits), mechanism.channel()


def report_likelihoods(counts: RowCounts, channel: Support, sizes: tuple[int, ...]) -> FloatArray:
    """Compute P(row | cell) for every distinct row and cell, bit by bit from the definition."""
    bits = counts.unpacked()
    table = np.ones((len(bits), int(np.prod(sizes))))
    for cell, values in enumerate(np.ndindex(*sizes)):
        truth = np.concatenate([np.eye(size)[value] for size, value in zip(sizes, values, strict=True)])
        ones = np.where(truth == 1, channel.one, channel.zero)
        table[:, cell] = np.where(bits == 1, ones, 1 - ones).prod(axis=1)
    return table


@pytest.mark.parametrize("sizes", [(3,), (2, 3), (3, 2, 2), (9, 9)])
def test_the_likelihood_is_that_of_every_report(sizes: tuple[int, ...]) -> None:
    truth = latent(sizes, seed=2)
    counts, channel = draw(truth, 300, f=0.3, seed=2)
    score = Likelihood.of(counts, sizes=sizes, supports=[channel] * len(sizes)).score(truth)
    table = report_likelihoods(counts, channel, sizes)
    table /= table.max(axis=1, keepdims=True)
    z = table @ truth.ravel()
    assert score.log_likelihood == pytest.approx(float(counts.counts @ np.log(z)), abs=1e-8)
    gradient = (counts.counts / z) @ table / counts.reports
    np.testing.assert_allclose(score.gradient.ravel(), gradient, rtol=1e-9)


def test_the_cost_of_an_iteration_does_not_grow_with_the_reports() -> None:
    truth = latent((8, 8), seed=3)
    few, channel = draw(truth, 20_000, f=0.5, seed=3)
    many, _ = draw(truth, 2_000_000, f=0.5, seed=4)
    rows = [Likelihood.of(counts, sizes=(8, 8), supports=[channel] * len((8, 8))).rows for counts in (few, many)]
    # Every pattern of two attributes of 8 bits, since none of them and all of them say the same.
    assert rows[1] <= 2**16
    assert rows[0] <= rows[1]


@pytest.mark.parametrize(("method", "stop"), FORMS)
@pytest.mark.parametrize("sizes", [(4,), (2, 3), (2, 2, 3)])
def test_every_estimate_is_a_distribution_with_finite_errors(method: str, stop: str, sizes: tuple[int, ...]) -> None:
    counts, channel = draw(latent(sizes, seed=5), 2_000, f=0.5, seed=5, response=True)
    solution = solve(method, stop, counts, channel, sizes)
    assert solution.joint.shape == solution.standard_error.shape == sizes
    assert solution.joint.min() >= 0
    assert solution.joint.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(np.isfinite(solution.standard_error))
    assert np.isfinite(solution.certificate)
    again = solve(method, stop, counts, channel, sizes)
    assert again.joint.tobytes() == solution.joint.tobytes()


@pytest.mark.parametrize(("method", "stop"), FORMS)
def test_without_reports_the_estimate_is_uniform_and_not_certified(method: str, stop: str) -> None:
    solution = solve(method, stop, RowCounts.empty(5), Support.of_bits(one=0.7, zero=0.2), (2, 3))
    np.testing.assert_array_equal(solution.joint, np.full((2, 3), 1 / 6))
    assert not solution.certified
    assert not solution.independence.dependent


@pytest.mark.parametrize("method", ["em", "lremh"])
def test_a_warm_start_never_keeps_a_cell_dead(method: str) -> None:
    truth = np.diag([0.25] * 4) + 1e-3
    truth /= truth.sum()
    counts, channel = draw(truth, 20_000, f=0.3, seed=6)
    dead = np.roll(truth, 1, axis=1)
    dead[truth > 0.1] = 0.0
    cold = solve(method, "certificate", counts, channel, (4, 4))
    warm = solve(method, "certificate", counts, channel, (4, 4), start=dead / dead.sum())
    assert warm.start == "previous"
    assert warm.certified
    np.testing.assert_allclose(warm.joint, cold.joint, rtol=0, atol=2e-3)


def test_a_start_without_the_most_probable_cells_takes_hardly_longer_than_a_cold_one() -> None:
    warm = cold = 0
    for seed in range(8):
        truth = latent((8, 8), seed=seed)
        counts, channel = draw(truth, 20_000, f=0.01, seed=seed)
        start = np.where(truth > np.quantile(truth, 0.75), 0.0, truth)
        lacking = solve("em", "certificate", counts, channel, (8, 8), start=start / start.sum())
        assert lacking.certified
        warm += lacking.iterations
        cold += solve("em", "certificate", counts, channel, (8, 8)).iterations
    assert warm <= 1.2 * cold


@pytest.mark.parametrize(("f", "response"), [(0.5, True), (0.25, False)])
@pytest.mark.parametrize("reports", [20_000, 200_000])
def test_after_a_drift_a_warm_window_is_certified_in_under_a_hundred_evaluations(
    f: float, response: bool, reports: int
) -> None:
    before = latent((8, 8), seed=7)
    after = 0.95 * before + 0.05 * latent((8, 8), seed=8)
    counts, channel = draw(before, reports, f=f, seed=9, response=response)
    first = solve("em", "certificate", counts, channel, (8, 8))
    counts, _ = draw(after, reports, f=f, seed=10, response=response)
    second = solve("em", "certificate", counts, channel, (8, 8), start=first.joint)
    assert second.certified
    assert second.iterations < 100


def test_independence_is_rejected_where_it_is_false_and_rarely_where_it_is_true() -> None:
    """At level 0.05, 14 or more of 100 rejections have a chance of 4e-4; the seeds are fixed."""
    product_of_marginals = np.outer([0.2, 0.3, 0.5], [0.6, 0.1, 0.3])
    rejected = 0
    for seed in range(100):
        counts, channel = draw(product_of_marginals, 3_000, f=0.4, seed=seed)
        rejected += solve("em", "certificate", counts, channel, (3, 3)).independence.dependent
    assert rejected < 14
    dependent = 0.7 * product_of_marginals + 0.3 * np.diag([0.2, 0.3, 0.5])
    counts, channel = draw(dependent, 3_000, f=0.4, seed=1)
    assert solve("em", "certificate", counts, channel, (3, 3)).independence.dependent


def table(name: str) -> tuple[list[str], NDArray[np.int64]]:
    file = DATA / f"{name}.csv.gz"
    if not file.exists():
        pytest.skip(f"{name}: real data, not part of the product, is not on this machine")
    with gzip.open(file, "rt") as lines:
        rows = csv.reader(lines)
        return next(rows), np.array([[int(value) for value in row] for row in rows])


def distance(
    records: NDArray[np.int64], users: int, *, method: str, stop: str, f: float, seed: int
) -> tuple[float, Solution]:
    """Compute the average variation distance to the joint of the drawn users, with permanent responses only."""
    chosen = records[np.random.default_rng(seed).permutation(len(records))[:users]]
    sizes = tuple(int(size) for size in records.max(axis=0) + 1)
    mechanism = RRLDP(sizes=sizes, f=f)
    counts = RowCounts.of(mechanism.perturb(chosen, entropy=SeededEntropy(seed)), bits=mechanism.bits)
    truth = np.bincount(np.ravel_multi_index(tuple(chosen.T), sizes), minlength=int(np.prod(sizes))) / users
    solution = solve(method, stop, counts, mechanism.channel(), sizes)
    return 0.5 * float(np.abs(solution.joint.ravel() - truth).sum()), solution


@pytest.mark.parametrize(
    ("k", "f", "stop", "expected"),
    [
        pytest.param(2, 0.5, "paper", {"em": 0.02, "lasso": 0.09, "lremh": 0.03}, marks=pytest.mark.long),
        (2, 0.5, "certificate", {"em": 0.02, "lasso": 0.09, "lremh": 0.03}),
        pytest.param(5, 0.5, "paper", {"em": 0.05, "lasso": 0.23, "lremh": 0.09}, marks=pytest.mark.long),
        (5, 0.5, "certificate", {"em": 0.05, "lasso": 0.23, "lremh": 0.09}),
        pytest.param(5, 0.1, "paper", {"em": 0.012}, marks=pytest.mark.long),
        (5, 0.1, "certificate", {"em": 0.012}),
    ],
)
def test_on_nltcs_the_error_is_close_to_or_below_what_is_known(
    k: int, f: float, stop: str, expected: dict[str, float]
) -> None:
    """Means over 12 random attribute sets vary by 15 %, of LASSO's paper form by 40 %: a third above is close."""
    _, records = table("nltcs")
    sets = [np.random.default_rng(seed).choice(16, size=k, replace=False) for seed in range(12)]
    for method, known in expected.items():
        found = [
            distance(records[:, chosen], 4_315, method=method, stop=stop, f=f, seed=seed)[0]
            for seed, chosen in enumerate(sets)
        ]
        limit = 1.7 if (method, stop) == ("lasso", "paper") else 1.35
        assert np.mean(found) < limit * known, method


@pytest.mark.long
@pytest.mark.timeout(600)
def test_on_adult_the_shipped_form_goes_on_where_the_papers_stops_after_one_step() -> None:
    """13,720 cells of 4,522 users at f = 0.5: .84 by the paper's form, .42 by ours when this was written."""
    header, records = table("adult")
    chosen = [header.index(name) for name in ("age", "workclass", "marital-status", "occupation", "sex")]
    paper, stopped = distance(records[:, chosen], 4_522, method="em", stop="paper", f=0.5, seed=1)
    ours, solution = distance(records[:, chosen], 4_522, method="em", stop="certificate", f=0.5, seed=1)
    assert stopped.iterations == 1
    assert solution.iterations > 1
    assert solution.certified
    assert ours < 0.6 * paper
