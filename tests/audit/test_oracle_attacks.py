"""The attacks on oracles and item sets: how close they come, that they accuse nobody, and whom they catch.

All randomness is seeded. The stated rates are those at which a test would fail with another seed.
"""

from collections.abc import Callable

import numpy as np
import pytest

from stream_ldp.audit.attacks import SINGLE_USERS
from stream_ldp.audit.oracle_attacks import oracle_attacks
from stream_ldp.mechanisms import (
    DirectResponse,
    Entropy,
    FrequencyOracle,
    HadamardResponse,
    SeededEntropy,
    SetHadamardResponse,
    UnaryResponse,
)
from tests.audit import broken
from tests.audit.test_attacks import FEW, is_disproved

HONEST: list[FrequencyOracle] = [
    HadamardResponse(size=6, epsilon=1.0),
    HadamardResponse(size=5000, epsilon=2.0, hash_bits=3),
    DirectResponse(size=20, dummies=5, epsilon=3.0),
    DirectResponse(size=1, dummies=1, epsilon=1.0),
    UnaryResponse(size=20, epsilon=2.0),
    SetHadamardResponse(size=1000, slots=10, epsilon=2.0, hash_bits=6),
]


def seeded(seed: int) -> Callable[[], Entropy]:
    entropy = SeededEntropy(seed)
    return lambda: entropy


@pytest.mark.parametrize(
    "oracle",
    # A hash of many values is attacked as one of few, and sets are compared exactly in test_oracle_reports.py.
    [pytest.param(each, marks=pytest.mark.long if each.size >= 1_000 else ()) for each in HONEST],
    ids=repr,
)
def test_an_attack_on_an_oracle_finds_90_to_100_percent_of_epsilon(oracle: FrequencyOracle) -> None:
    """With 100,000 reports of each value: more than 90 % of epsilon; the least over 10 seeds was 0.95."""
    attack, *_ = oracle_attacks(oracle, noise=seeded(1))
    found = attack.run(trials=100_000, confidence=0.9999, entropy=SeededEntropy(2))
    assert 0.9 * oracle.epsilon < found.epsilon <= oracle.epsilon
    assert not is_disproved(oracle_attacks(oracle, noise=seeded(3)), trials=FEW)


@pytest.mark.parametrize(
    "twin",
    [
        broken.FavoursARow(size=8, epsilon=1.0),
        broken.SendsDummiesPlainly(size=8, epsilon=1.0),
        broken.SendsTheNextValue(size=8, epsilon=1.0),
        broken.SpendsEpsilonOnEachBit(size=8, epsilon=1.0),
        broken.AnswersForAHigherEpsilon(size=64, slots=2, epsilon=1.0, hash_bits=3),
        # Only sets of more than l items tell: with a hash too many, another hash is never sent.
        broken.KeepsAHashTooMany(size=16, slots=4, epsilon=3.0, hash_bits=3),
    ],
    ids=lambda twin: type(twin).__name__,
)
def test_a_broken_oracle_is_caught(twin: FrequencyOracle) -> None:
    assert is_disproved(oracle_attacks(twin, noise=seeded(1)), trials=10_000)


@pytest.mark.parametrize(
    "oracle",
    # The attack asks any oracle for one user a call. That of unary responses is the quickest.
    [pytest.param(each, marks=() if isinstance(each, UnaryResponse) else pytest.mark.long) for each in HONEST],
    ids=repr,
)
def test_a_generator_that_begins_anew_for_every_user_is_caught(oracle: FrequencyOracle) -> None:
    assert is_disproved(oracle_attacks(oracle, noise=broken.reused_generator), trials=SINGLE_USERS)


def test_a_report_supports_exactly_the_values_that_its_oracle_counts() -> None:
    for oracle in HONEST:
        rows = oracle.perturb(np.arange(200) % (oracle.size + 1), entropy=SeededEntropy(5))
        values = np.arange(min(oracle.size, 9))
        supported = oracle.supported(rows, values)
        counted = [oracle.supports(oracle.sums(rows[[row]]), reports=1)[values] for row in range(20)]
        assert np.array_equal(supported[:20], np.array(counted) == 1)
