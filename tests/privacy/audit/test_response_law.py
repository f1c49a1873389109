"""The law of a report that is found from the code is the one that the code has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import chi2

from stream_ldp.mechanisms import DirectResponse, HadamardResponse, SeededEntropy, UnaryResponse
from stream_ldp.privacy.audit.chosen_words import UnknownLaw
from stream_ldp.privacy.audit.response_law import in_miniature, law_epsilon, realised_law, stated_law
from tests.privacy.audit import broken

if TYPE_CHECKING:
    from stream_ldp.mechanisms import FrequencyOracle

HONEST: list[FrequencyOracle] = [
    HadamardResponse(size=5, epsilon=1.0),
    HadamardResponse(size=4, epsilon=2.0, hash_bits=2),
    DirectResponse(size=5, dummies=2, epsilon=1.5),
    UnaryResponse(size=5, epsilon=2.0),
]


@pytest.mark.parametrize("oracle", HONEST, ids=repr)
def test_reports_have_the_output_distribution_that_was_found(oracle: FrequencyOracle) -> None:
    """200,000 reports of each input; a right law fails for 1 seed in 10^5, over all inputs."""
    law = realised_law(oracle).astype(np.float64)
    for value, chances in enumerate(law):
        rows = oracle.perturb(np.full(200_000, value), entropy=SeededEntropy(value))
        counts = np.bincount(rows[:, 0], minlength=len(chances))
        assert counts[chances == 0].sum() == 0
        expected = 200_000 * chances[chances > 0]
        distance = ((counts[chances > 0] - expected) ** 2 / expected).sum()
        assert distance < chi2.isf(1e-5 / len(law), len(expected) - 1)


@pytest.mark.parametrize(
    ("twin", "epsilon"),
    [
        # A value's row has the other sign for the values that it is told from: it is never sent for it.
        (broken.FavoursARow(size=4, epsilon=1.0), math.inf),
        (broken.DrawsRowsUnevenly(size=4, epsilon=1.0), 1.0),
        (broken.SendsTheNextValue(size=4, epsilon=1.0), math.inf),
        (broken.SpendsEpsilonOnEachBit(size=4, epsilon=1.0), 2.0),
    ],
)
def test_a_broken_oracle_is_caught(twin: Any, epsilon: float) -> None:
    law = realised_law(twin)
    assert law_epsilon(law) == pytest.approx(epsilon, abs=1e-8)
    assert law_epsilon(law) > twin.epsilon + 1e-9 or not np.array_equal(law, stated_law(twin))


def test_an_oracle_that_treats_dummies_differently_is_refused() -> None:
    with pytest.raises(UnknownLaw, match="is not answered like any other value"):
        realised_law(broken.SendsDummiesPlainly(size=4, epsilon=1.0))


@pytest.mark.parametrize(
    "oracle",
    [
        HadamardResponse(size=2**20, epsilon=3.0),
        HadamardResponse(size=4096, epsilon=3.0, hash_bits=8),
        DirectResponse(size=5000, dummies=20, epsilon=3.0),
        DirectResponse(size=2, dummies=5000, epsilon=3.0),
        UnaryResponse(size=1000, epsilon=3.0),
    ],
    ids=repr,
)
def test_an_oracle_that_is_too_large_to_enumerate_keeps_its_epsilon_in_miniature(oracle: FrequencyOracle) -> None:
    with pytest.raises(ValueError, match="probabilities: a law of at most 65,536 is enumerated"):
        stated_law(oracle)
    small = in_miniature(oracle)
    assert type(small) is type(oracle)
    assert small.size >= 1
    assert law_epsilon(stated_law(small)) == pytest.approx(small.epsilon, abs=1e-9, rel=0)
    # A direct response rounds its probability anew for fewer choices.
    assert oracle.epsilon - 1e-5 < small.epsilon <= oracle.epsilon
