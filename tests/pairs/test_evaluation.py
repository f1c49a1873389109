"""Evaluation of key-value data: what is measured agrees with the stated errors."""

import numpy as np
import pytest

from stream_ldp.pairs.evaluation import EVALUATION
from tests.evaluation.runs import evaluated, numbers
from tests.pairs.examples import collection_of, users


def test_the_errors_are_the_expected_ones() -> None:
    """Of 60 repeats and two keys or three, a mean square is off by less than half but for 1 seed in 1,000."""
    found = evaluated(collection_of("epsilon: 3, padding: 2"), users(4_000), repeats=60)
    for series in ("frequency", "mean"):
        scored = numbers(found[series])
        assert scored["mse"] == pytest.approx(scored["mse_expected"], rel=0.5)
        assert scored["coverage"] > 0.85
    assert 0.6 < numbers(found["mean"])["reported"] < 0.75


def test_the_keys_of_assumed_users_fill_three_slots_of_five() -> None:
    collection = collection_of("epsilon: 3, padding: 2")
    assert EVALUATION.assumed is not None
    assumed = EVALUATION.assumed(collection)
    assert assumed is not None
    numbers = np.stack([assumed.population[str(place)] for place in range(len(collection.attributes))], axis=1)
    assert (~np.isnan(numbers)).sum(axis=1).mean() == pytest.approx(1.2, abs=0.05)
    for key, column in zip(collection.attributes, numbers.T, strict=True):
        least, largest = key.bounds
        assert least <= np.nanmin(column) <= np.nanmax(column) <= largest


def test_means_that_no_key_has_are_not_measured() -> None:
    """Seeded: at epsilon 0.3, none of 30 users' keys has more than the noise."""
    found = evaluated(collection_of("epsilon: 0.3, padding: 2"), users(30), repeats=2)
    assert numbers(found["mean"]) == {"reported": 0.0, "reported_sd": 0.0}
