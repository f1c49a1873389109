"""The standard errors of estimates from views, against the errors that they have."""

from itertools import combinations

import numpy as np
import pytest

from stream_ldp.mechanisms import DirectResponse, SeededEntropy
from stream_ldp.views.errors import errors_of
from stream_ldp.views.fitting import Fit
from stream_ldp.views.tables import ViewTable, view_tables
from tests.views.examples import SIZES, collection_of, joint_of, sums_of, users

SETS = [(0,), (1, 0), (2, 3), (1, 2, 0), (3, 2, 1, 0)]


def test_two_standard_errors_hold_the_truth_nearly_always() -> None:
    questions, truth = collection_of("epsilon: 3, ask: pairs").questions, users(400_000, seed=99)
    ratios: dict[tuple[int, ...], list[float]] = {of: [] for of in SETS}
    held: list[float] = []
    for seed in range(12):
        tables = view_tables(questions, [(1.0, sums_of(questions, users(6_000, seed), seed))])
        fit = Fit(tables, sizes=SIZES)
        for of in SETS:
            joint = fit.joint(of).probability
            error = errors_of(fit, tables, joint, of=of).standard_error
            assert error.shape == joint.shape
            off = joint - joint_of(truth, of)
            ratios[of].append(float((off**2).sum() / (error**2).sum()))
            held.append(float((np.abs(off) <= 2 * error).mean()))
    assert 0.88 < np.mean(held) < 0.995
    for of in SETS:
        # Cells are few and depend on each other, so that a ratio of squares has a wide spread.
        assert 0.2 < np.mean(ratios[of]) < 2.2, of


def test_errors_fall_as_one_over_the_root_of_the_reports() -> None:
    questions = collection_of("epsilon: 4, ask: pairs").questions
    sums = sums_of(questions, users(40_000))
    found = []
    for factor in (1, 4):
        tables = view_tables(questions, [(1.0, factor * sums)])
        fit = Fit(tables, sizes=SIZES)
        found.append(errors_of(fit, tables, fit.joint((0, 1)).probability, of=(0, 1)).standard_error)
    assert found[0] / found[1] == pytest.approx(np.full((2, 2), 2.0), rel=0.15)


def test_a_pair_that_nobody_reported_has_the_error_of_what_is_not_known() -> None:
    questions = collection_of("epsilon: 4, ask: attributes", estimates="[{name: a, of: [walks]}]").questions
    tables = view_tables(questions, [(1.0, sums_of(questions, users(1_000_000)))])
    fit = Fit(tables, sizes=SIZES)
    joint = fit.joint((1, 2)).probability
    error = errors_of(fit, tables, joint, of=(1, 2)).standard_error
    off = np.abs(joint - joint_of(users(100_000), (1, 2)))
    assert error.mean() > 0.02
    assert (off <= 3 * error).all()


def test_an_attribute_that_nobody_reported_may_be_anything() -> None:
    fit = Fit([], sizes=(2,))
    assert errors_of(fit, [], fit.margin(0), of=(0,)).standard_error == pytest.approx(
        np.full(2, 1 / np.sqrt(12)), rel=0.2
    )


@pytest.mark.parametrize("count", [1, 10, 30])
def test_the_errors_of_a_few_noisy_answers_are_numbers_and_large(count: int) -> None:
    """Noise puts so many cells of pairs to 0 that some repeats of three attributes had no cell left: all was NaN."""
    questions = collection_of("epsilon: 1, ask: pairs, oracle: hadamard").questions
    tables = view_tables(questions, [(1.0, sums_of(questions, users(count)))])
    fit = Fit(tables, sizes=SIZES)
    error = errors_of(fit, tables, fit.joint((0, 1, 2)).probability, of=(0, 1, 2)).standard_error
    assert error.min() > 0.05
    assert error.max() < 1


@pytest.mark.parametrize("dependent", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("most", [0.5, 0.97])
def test_what_shrinking_may_have_taken_is_in_the_errors(dependent: float, most: float) -> None:
    """Seeded. 80 windows of two binary attributes with one answer each of 3,000 users.

    The cells of a window are off together, so that the coverage of 80 windows, of nominally 0.95, has an error of
    0.024; less than 0.86 would be 3.7 of them. With the noise alone that shrinking leaves, it is 0.83 at a fifth.
    """
    rng, oracle = np.random.default_rng(11), DirectResponse(size=4, epsilon=1.0 if most == 0.5 else 2.0)
    rows = np.array([most, 1 - most])
    truth = (1 - dependent) * np.outer(rows, rows) + dependent * np.diag(rows)
    held = []
    for seed in range(80):
        answers = oracle.perturb(rng.choice(4, 3_000, p=truth.ravel()), entropy=SeededEntropy(seed))
        found = oracle.estimate(oracle.sums(answers), reports=3_000).reshape(2, 2)
        tables = [ViewTable(of=(0, 1), oracle=oracle, reports=3_000, frequencies=found)]
        fit = Fit(tables, sizes=(2, 2))
        joint = fit.joint((0, 1)).probability
        off = np.abs(joint - truth) <= 1.96 * errors_of(fit, tables, joint, of=(0, 1)).standard_error
        held.append(float(off[truth >= 0.01].mean()))
    assert np.mean(held) > 0.86


def test_large_cells_of_five_attributes_are_covered_where_users_tell_single_ones() -> None:
    """Seeded: 12 populations of classes within which attributes are independent; 0.87 without it."""
    rng, sizes = np.random.default_rng(5), (2, 3, 2, 3, 2)
    oracle = {size: DirectResponse(size=size, epsilon=2.0) for size in set(sizes)}
    held = []
    for _ in range(12):
        truth = np.zeros(sizes)
        for share in rng.dirichlet(np.ones(3)):
            within = np.ones(())
            for size in sizes:
                within = np.multiply.outer(within, rng.dirichlet(np.ones(size)))
            truth += share * within
        tables = []
        for place, size in enumerate(sizes):
            margin = truth.sum(axis=tuple(axis for axis in range(len(sizes)) if axis != place))
            empty = ViewTable(of=(place,), oracle=oracle[size], reports=4_000, frequencies=margin)
            noisy = empty.noisy(margin, repeats=1, generator=rng).frequencies[0]
            tables.append(ViewTable(of=(place,), oracle=oracle[size], reports=4_000, frequencies=noisy))
        fit = Fit(tables, sizes=sizes)
        joint = fit.joint(range(5)).probability
        off = np.abs(joint - truth) <= 1.96 * errors_of(fit, tables, joint, of=range(5)).standard_error
        held.append(float(off[truth >= 0.01].mean()))
    assert np.mean(held) > 0.9


def test_a_few_noisy_answers_about_pairs_make_errors_hardly_narrower_than_none() -> None:
    """Seeded, five attributes. Without what goes together in all pairs, that of the largest cell would be half."""
    rng, margin = np.random.default_rng(5), np.array([0.6, 0.3, 0.1])
    tables: list[ViewTable] = []
    found = []
    for ways, reports in ((1, 10_000), (2, 25)):
        truth = margin if ways == 1 else np.outer(margin, margin)
        oracle = DirectResponse(size=truth.size, epsilon=1.0)
        for view in combinations(range(5), ways):
            exact = ViewTable(of=view, oracle=oracle, reports=reports, frequencies=truth)
            noisy = exact.noisy(truth, repeats=1, generator=rng).frequencies[0]
            tables.append(ViewTable(of=view, oracle=oracle, reports=reports, frequencies=noisy))
        fit = Fit(tables, sizes=(3,) * 5)
        joint = fit.joint(range(5)).probability
        found.append(errors_of(fit, tables, joint, of=range(5)).standard_error.max())
    alone, together = found
    assert together > 0.85 * alone


def test_what_three_attributes_have_beyond_their_pairs_is_in_the_errors() -> None:
    """Without it, errors fall to nothing with the noise."""
    rng = np.random.default_rng(6)
    pair = np.array([[0.4, 0.1], [0.1, 0.4]])
    oracle = DirectResponse(size=4, epsilon=4.0)
    tables = [
        ViewTable(
            of=of,
            oracle=oracle,
            reports=10**9,
            frequencies=ViewTable(of=of, oracle=oracle, reports=10**9, frequencies=pair)
            .noisy(pair, repeats=1, generator=rng)
            .frequencies[0],
        )
        for of in ((0, 1), (0, 2), (1, 2))
    ]
    fit = Fit(tables, sizes=(2, 2, 2))
    error = errors_of(fit, tables, fit.joint((0, 1, 2)).probability, of=(0, 1, 2)).standard_error
    assert 0.01 < error.max() < 0.1
