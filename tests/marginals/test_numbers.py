"""Means and distributions from answers: unbiased, with true errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_ldp.mechanisms import GivenWords
from stream_ldp.questions.answers import gathered
from tests.marginals.examples import collection_of, estimated, rows_of, users

REPEATS = 200
USERS = 3_000


@pytest.mark.parametrize("mean", ["auto", "minimax", "harmony-mean", "mean-est"])
def test_means_are_unbiased_and_their_standard_errors_true(mean: str) -> None:
    """Users and noise are drawn anew 200 times.

    A right mean is 5 standard errors off for 1 seed in 10^5, and a right deviation 25 % off for one in 10^6.
    """
    collection = collection_of(f"epsilon: 1.5, mean: {mean}")
    raw, errors = [], []
    for repeat in range(REPEATS):
        sums = collection.questions.sums(rows_of(collection, users(USERS, repeat), repeat + 2_000))
        found = estimated(gathered(collection.questions, [(1.0, sums)], of=1), of=1)
        raw.append(found.raw)
        errors.append(found.standard_error)
    truth = users(200_000, 0)["1"].mean() / 50 - 1
    assert abs(np.mean(raw) - truth) < 5 * np.std(raw) / math.sqrt(REPEATS)
    assert np.mean(errors) == pytest.approx(np.std(raw), rel=0.25)


def test_the_distribution_of_a_number_comes_from_the_same_answers() -> None:
    """A third of 100,000 users are asked at epsilon 4; the distance is that of the two distribution functions.

    For 20 seeds it was at most 0.012.
    """
    collection = collection_of("epsilon: 4")
    people = users(100_000)
    sums = collection.questions.sums(rows_of(collection, people))
    found = estimated(gathered(collection.questions, [(1.0, sums)], of=1), of=1).distribution
    assert found is not None
    points = np.linspace(0, 100, len(found.probability))
    middles = (points[1:] + points[:-1]) / 2
    true = np.searchsorted(np.sort(people["1"]), middles) / len(people)
    assert np.abs(np.cumsum(found.probability)[:-1] - true).max() < 0.03


def test_answers_of_a_coin_show_no_distribution() -> None:
    collection = collection_of("epsilon: 4, mean: harmony-mean")
    sums = collection.questions.sums(rows_of(collection, users(1_000)))
    assert estimated(gathered(collection.questions, [(1.0, sums)], of=1), of=1).distribution is None


def test_equal_answers_of_a_few_users_have_an_error() -> None:
    """Words of 0 round up, and keep."""
    collection = collection_of("epsilon: 4, mean: harmony-mean")
    table = users(3)
    table["1"] = 99.0
    rows = collection.questions.perturb(np.full(3, 1), table, entropy=GivenWords(np.zeros(9, dtype=np.uint32)))
    found = estimated(gathered(collection.questions, [(1.0, collection.questions.sums(rows))], of=1), of=1)
    assert found.raw > 1
    assert found.standard_error > 0.1
