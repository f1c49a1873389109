"""Frequencies from answers: unbiased, with true errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

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
