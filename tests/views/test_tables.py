"""The tables of views, and what repeated answers would show."""

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import DirectResponse, HadamardResponse, SeededEntropy, SubsetResponse
from stream_ldp.views.tables import ViewTable, combined, view_tables
from tests.views.examples import collection_of, joint_of, sums_of, users

TRUTH = np.array([[0.5, 0.2, 0.1], [0.1, 0.05, 0.05]])


def test_tables_are_unbiased_and_marginals_agree_with_them() -> None:
    questions, people = collection_of("epsilon: 6, ask: pairs").questions, users(60_000)
    tables = view_tables(questions, [(1.0, sums_of(questions, people))])
    assert [table.of for table in tables] == [view.of for view in questions.questions]
    for table in tables:
        # 10,000 answers each: four standard errors of a half.
        assert table.frequencies == pytest.approx(joint_of(people, table.of), abs=0.02)
        marginal, information = table.marginal(table.of[:1])
        assert marginal == pytest.approx(table.frequencies.sum(axis=1))
        assert information / marginal.size == pytest.approx(table.marginal(table.of)[1] / table.frequencies.size)


def test_a_view_that_nobody_reported_has_no_table() -> None:
    questions = collection_of().questions
    assert view_tables(questions, [(1.0, np.zeros(questions.counters, dtype=np.int64))]) == []


def test_users_who_repeat_their_answers_count_once() -> None:
    questions = collection_of().questions
    sums = sums_of(questions, users(1_000))
    once, twice = (view_tables(questions, [(1.0, factor * sums)], reports_per_user=factor)[0] for factor in (1, 2))
    assert once.reports == twice.reports
    assert once.frequencies == pytest.approx(twice.frequencies)


@pytest.mark.parametrize(
    ("oracle", "truth"),
    [
        (SubsetResponse(size=6, epsilon=1.0, members=2), TRUTH),
        (HadamardResponse(size=6, epsilon=1.0), TRUTH),
        (DirectResponse(size=4, epsilon=1.0), np.array([[0.35, 0.1], [0.05, 0.5]])),
    ],
)
def test_repeated_answers_have_the_deviations_of_real_ones(
    oracle: SubsetResponse | HadamardResponse | DirectResponse, truth: NDArray[np.float64]
) -> None:
    reports, rng, entropy = 200, np.random.default_rng(3), SeededEntropy(4)
    real = []
    for _ in range(1_500):
        people = rng.choice(truth.size, reports, p=truth.ravel())
        sums = oracle.sums(oracle.perturb(people, entropy=entropy))
        real.append(oracle.estimate(sums, reports=reports).reshape(truth.shape))
    table = ViewTable(of=(0, 1), oracle=oracle, reports=reports, frequencies=real[0])
    repeated = table.noisy(truth, repeats=1_500, generator=np.random.default_rng(5)).frequencies
    # The deviations of 1,500 repeats are within 2 % each, one standard deviation.
    assert repeated.std(axis=0) == pytest.approx(np.std(real, axis=0), rel=0.1)
    assert repeated.sum(axis=2).std(axis=0) == pytest.approx(np.sum(real, axis=2).std(axis=0), rel=0.1)


def test_tables_are_combined_by_their_inverse_variances() -> None:
    oracle = SubsetResponse(size=6, epsilon=1.0, members=2)
    few, many = (
        ViewTable(of=(0, 1), oracle=oracle, reports=reports, frequencies=np.full((2, 3), value))
        for reports, value in ((100, 0.1), (300, 0.2))
    )
    found, information = combined([few, many], most=2)[0, 1]
    assert found == pytest.approx(np.full((2, 3), 0.175))
    assert information == pytest.approx(few.marginal((0, 1))[1] * 4)
