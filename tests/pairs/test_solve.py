"""Frequencies and means of keys: unbiased, with true errors."""

import math

import numpy as np
import pytest

from stream_ldp.pairs.solve import pairs_of
from stream_ldp.questions.answers import gathered
from tests.pairs.examples import HELD, MEANS, collection_of, estimates_of, rows_of, users

REPEATS = 120
USERS = 4_000


@pytest.mark.parametrize("oracle", ["auto", "k-rr"])
def test_frequencies_and_means_are_right_and_their_errors_true(oracle: str) -> None:
    """Users and noise are drawn anew 120 times.

    A right mean is 5 standard errors off for 1 seed in 10^5; a deviation from 120 repeats is itself 7 % off.
    """
    collection = collection_of(f"epsilon: 2, padding: 2, oracle: {oracle}")
    found = []
    for repeat in range(REPEATS):
        sums = collection.questions.sums(rows_of(collection, users(USERS, repeat), repeat + 500))
        found.append(pairs_of(gathered(collection.questions, [(1.0, sums)])[0]))
    frequencies = np.array([each.frequency for each in found])
    deviations = frequencies.std(axis=0)
    assert (np.abs(frequencies.mean(axis=0) - HELD) < 5 * deviations / math.sqrt(REPEATS)).all()
    errors = np.mean([each.frequency_error for each in found], axis=0)
    assert errors == pytest.approx(deviations, rel=0.3)
    for place, top in enumerate((60, 10)):
        means = np.array([each.mean[place] for each in found]) * top
        stated = np.mean([each.mean_error[place] for each in found]) * top
        assert abs(means.mean() - MEANS[place]) < 5 * means.std() / math.sqrt(REPEATS) + 0.02 * MEANS[place]
        assert stated == pytest.approx(means.std(), rel=0.35)


def test_a_key_that_nobody_holds_has_no_mean() -> None:
    search, _, photos = estimates_of(collection_of()).keys
    assert search.mean is not None
    assert search.mean.projected == pytest.approx(15, abs=3)
    assert photos.mean is None
    assert abs(photos.raw) < 4 * photos.standard_error


def test_users_with_more_keys_than_slots_count_for_less() -> None:
    collection = collection_of("epsilon: 6, padding: 1")
    table = users(20_000)
    table["0"], table["1"], table["2"] = 30.0, 5.0, 0.0
    sums = collection.questions.sums(rows_of(collection, table))
    (answers,) = gathered(collection.questions, [(1.0, sums)])
    assert pairs_of(answers).frequency == pytest.approx(1 / 3, abs=0.05)


def test_windows_of_few_users_are_withheld() -> None:
    floored = collection_of().model_copy(update={"min_reports": 500})
    few, enough = estimates_of(floored, 499), estimates_of(floored, 500)
    assert (few.withheld, few.keys) == (True, ())
    assert (enough.withheld, len(enough.keys)) == (False, 3)
