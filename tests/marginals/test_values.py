"""Frequencies from answers: unbiased, with true errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_ldp.evaluation.distance import average_variation_distance
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.values import MIN_LEARNT, likely_distribution
from stream_ldp.mechanisms.simplex import on_simplex
from stream_ldp.questions.answers import gathered
from tests.marginals.examples import collection_of, estimated, rows_of, users

REPEATS = 200
USERS = 3_000


@pytest.mark.parametrize(
    "oracle",
    # `auto` takes one of the others, and s-hist is another name of hadamard.
    ["k-rr", "k-subset", "hadamard", *(pytest.param(each, marks=pytest.mark.long) for each in ("auto", "s-hist"))],
)
def test_frequencies_are_unbiased_and_their_standard_errors_true(oracle: str) -> None:
    """Users and noise are drawn anew 200 times.

    A right mean is 5 standard errors off for 1 seed in 10^5, and a right deviation 25 % off for one in 10^6.
    """
    collection = collection_of(f"epsilon: 1.5, oracle: {oracle}")
    raw, errors = [], []
    for repeat in range(REPEATS):
        sums = collection.questions.sums(rows_of(collection, users(USERS, repeat), repeat + 1_000))
        found = estimated(gathered(collection.questions, [(1.0, sums)], of=0), of=0)
        raw.append(found.raw)
        errors.append(found.standard_error)
        assert found.projected.sum() == pytest.approx(1)
    deviation = np.std(raw, axis=0)
    assert np.all(np.abs(np.mean(raw, axis=0) - [0.6, 0.3, 0.1]) < 5 * deviation / math.sqrt(REPEATS))
    assert np.mean(errors, axis=0) == pytest.approx(deviation, rel=0.25)


@pytest.mark.parametrize("oracle", ["auto", "o-rappor"])
def test_many_frequencies_are_drawn_to_what_all_of_them_suggest(oracle: str) -> None:
    """100 values by Zipf's law, 20,000 users at epsilon 1: the distance is 0.69 and 0.65 of the nearest one's."""
    names = [f"v{place}" for place in range(100)]
    attribute = "values" if oracle == "auto" else "candidates"
    collection = SampledCollection.parse(
        f"collection: many\nmechanism: {{kind: sampled, epsilon: 1, oracle: {oracle}}}\nwindow: {{size: 10s}}\n"
        f"attributes: [{{name: a, {attribute}: [{', '.join(names)}]}}]"
    )
    shares = 1.0 / np.arange(1, 101)
    users = np.random.default_rng(3).choice(100, 20_000, p=shares / shares.sum())
    people = users.astype([("0", "<i8")])
    sums = collection.questions.sums(rows_of(collection, people, 5))
    found = estimated(gathered(collection.questions, [(1.0, sums)], of=0), of=0)
    truth = np.bincount(users, minlength=100) / len(users)
    drawn, nearest = (average_variation_distance(each, truth) for each in (found.projected, on_simplex(found.raw)))
    assert drawn < 0.8 * nearest
    assert found.projected.sum() + (found.others or 0.0) == pytest.approx(1)


def test_few_frequencies_have_the_nearest_distribution() -> None:
    raw, error = np.linspace(-0.05, 0.3, MIN_LEARNT - 1), np.full(MIN_LEARNT - 1, 0.05)
    np.testing.assert_array_equal(likely_distribution(raw, error), on_simplex(raw))


def test_frequencies_without_noise_stay_as_they_are() -> None:
    shares = np.arange(MIN_LEARNT) / np.arange(MIN_LEARNT).sum()
    np.testing.assert_allclose(likely_distribution(shares, np.zeros(MIN_LEARNT)), shares, atol=1e-9)
