"""The output distribution of a report that is found from the code is the one that the code has."""

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from stream_ldp.audit.output_distribution import (
    TooManyReports,
    all_sets,
    changing_epsilons,
    epsilon_of,
    in_miniature,
    realised_distribution,
    realised_set_distribution,
    stated_distribution,
)
from stream_ldp.mechanisms import (
    DirectResponse,
    FrequencyOracle,
    HadamardResponse,
    RepeatedResponse,
    SeededEntropy,
    SetHadamardResponse,
    UnaryResponse,
)
from stream_ldp.mechanisms.randomizer import OutputDistribution
from tests.audit import broken

HONEST: list[FrequencyOracle] = [
    HadamardResponse(size=5, epsilon=1.0),
    HadamardResponse(size=4, epsilon=2.0, hash_bits=2),
    DirectResponse(size=5, dummies=2, epsilon=1.5),
    UnaryResponse(size=5, epsilon=2.0),
]

OF_SETS = [
    SetHadamardResponse(size=4, slots=1, epsilon=1.0, hash_bits=1),
    SetHadamardResponse(size=4, slots=1, epsilon=1.0, hash_bits=2),
    SetHadamardResponse(size=4, slots=2, epsilon=0.5, hash_bits=2),
    SetHadamardResponse(size=4, slots=3, epsilon=2.0, hash_bits=2),
    pytest.param(SetHadamardResponse(size=4, slots=2, epsilon=3.0, hash_bits=3), marks=pytest.mark.long),
]


@lru_cache
def realised(oracle: SetHadamardResponse) -> OutputDistribution:
    return realised_set_distribution(oracle, all_sets(oracle.size), padding=oracle.slots)


@pytest.mark.parametrize("oracle", HONEST, ids=repr)
def test_reports_have_the_output_distribution_that_was_found(oracle: FrequencyOracle) -> None:
    """200,000 reports of each input; a right distribution fails for 1 seed in 10^5, over all inputs."""
    found = realised_distribution(oracle).astype(np.float64)
    for value, chances in enumerate(found):
        rows = oracle.perturb(np.full(200_000, value), entropy=SeededEntropy(value))
        counts = np.bincount(rows[:, 0], minlength=len(chances))
        assert counts[chances == 0].sum() == 0
        expected = 200_000 * chances[chances > 0]
        distance = ((counts[chances > 0] - expected) ** 2 / expected).sum()
        assert distance < chi2.isf(1e-5 / len(found), len(expected) - 1)


@pytest.mark.parametrize(
    ("twin", "epsilon"),
    [
        # A value's row has the other sign for the values that it is told from: it is never sent for it.
        (broken.FavoursARow(size=4, epsilon=1.0), math.inf),
        (broken.DrawsRowsUnevenly(size=4, epsilon=1.0), 1.0),
        (broken.SendsTheNextValue(size=4, epsilon=1.0), math.inf),
        (broken.SpendsEpsilonOnEachBit(size=4, epsilon=1.0), 2.0),
        (broken.SendsDummiesPlainly(size=4, epsilon=1.0), math.inf),
    ],
)
def test_a_broken_oracle_is_caught(twin: Any, epsilon: float) -> None:
    found = realised_distribution(twin)
    assert epsilon_of(found) == pytest.approx(epsilon, abs=1e-8)
    assert epsilon_of(found) > twin.epsilon + 1e-9 or not np.array_equal(found, stated_distribution(twin))


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
    with pytest.raises(ValueError, match="probabilities: a distribution of at most 65,536 is enumerated"):
        stated_distribution(oracle)
    small = in_miniature(oracle)
    assert type(small) is type(oracle)
    assert small.size >= 1
    assert epsilon_of(stated_distribution(small)) == pytest.approx(small.epsilon, abs=1e-9, rel=0)
    # A direct response rounds its probability anew for fewer choices.
    assert oracle.epsilon - 1e-5 < small.epsilon <= oracle.epsilon


@pytest.mark.parametrize("oracle", OF_SETS, ids=repr)
def test_a_set_loses_exactly_epsilon(oracle: SetHadamardResponse) -> None:
    found = realised(oracle)
    assert np.array_equal(found, oracle.stated_sets(all_sets(oracle.size), padding=oracle.slots))
    assert {sum(row) for row in found.tolist()} == {1}
    assert epsilon_of(found) == pytest.approx(oracle.epsilon, abs=1e-12, rel=0)


@pytest.mark.parametrize("oracle", OF_SETS, ids=repr)
def test_reports_of_sets_have_the_output_distribution_that_was_found(oracle: SetHadamardResponse) -> None:
    """100,000 reports of each of three sets: within 5.5 standard errors, for all but 1 seed in 10^4."""
    sets = all_sets(oracle.size)
    found = realised(oracle).astype(np.float64)
    for place in (0, 1, len(sets) - 1):
        offsets = np.arange(100_001) * len(sets[place])
        items = np.tile(np.array(sets[place], dtype=np.int64), 100_000)
        rows = oracle.perturb_sets(offsets, items, padding=oracle.slots, entropy=SeededEntropy(place))
        reports = rows.astype(np.int64) @ (1 << 8 * np.arange(rows.shape[1]))
        expected = 100_000 * found[place]
        distance = np.abs(np.bincount(reports, minlength=len(expected)) - expected)
        assert np.all(distance <= 5.5 * np.sqrt(expected))


def test_estimates_of_small_sets_are_unbiased_but_for_the_xor_of_three_items() -> None:
    """Exactly right for up to two items; of three, for all values but their exclusive or."""
    oracle = SetHadamardResponse(size=6, slots=3, epsilon=2.0, hash_bits=3)
    values = np.arange(oracle.size)
    sets = [items for items in all_sets(oracle.size) if len(items) <= 3]
    rows = np.arange(2**oracle.bits, dtype="<u2").view(np.uint8).reshape(-1, 2)
    stated = oracle.stated_sets(sets, padding=3).astype(np.float64)
    chances = stated @ oracle.supported(rows, values)
    p, q = oracle.support
    for items, row in zip(sets, chances, strict=True):
        held = np.isin(values, items)
        assert row[held] == pytest.approx(p, abs=1e-12)
        related = values == np.bitwise_xor.reduce(items) if len(items) == 3 else held
        assert row[~held & ~related] == pytest.approx(q, abs=1e-12)
        assert np.all(row[~held & related] < q)


@pytest.mark.parametrize("twin", [broken.KeepsAllHashes, broken.FavoursOneHash, broken.AnswersForAHigherEpsilon])
def test_a_broken_response_to_sets_is_caught(twin: type[SetHadamardResponse]) -> None:
    oracle = twin(size=4, slots=2, epsilon=1.0, hash_bits=2)
    found = realised(oracle)
    assert not np.array_equal(found, oracle.stated_sets(all_sets(4), padding=2))
    assert epsilon_of(found) > oracle.epsilon + 0.01 or twin is broken.FavoursOneHash


def test_reports_of_inputs_that_change_are_those_of_every_memoised_answer() -> None:
    """Brute force: all memoised answers to both inputs, and all three reports, for every pair of histories."""
    response = RepeatedResponse(size=2, epsilon=1.0, lifetime=2.0)
    p, a = response.kept / 2**32, response.fresh / 2**32

    def chance(inputs: tuple[int, ...], sent: tuple[int, ...]) -> float:
        return sum(
            math.prod(p if kept == value else 1 - p for value, kept in enumerate(answers))
            * math.prod(a if said == answers[held] else 1 - a for held, said in zip(inputs, sent, strict=True))
            for answers in itertools.product((0, 1), repeat=2)
        )

    histories = list(itertools.product((0, 1), repeat=3))
    ratios = {
        (one, other): max(math.log(chance(one, sent) / chance(other, sent)) for sent in histories)
        for one, other in itertools.product(histories, repeat=2)
    }
    alike, any_two = changing_epsilons(response, reports=3)
    assert any_two == pytest.approx(max(ratios.values()))
    for changes, epsilon in alike.items():
        opposite = [
            loss
            for (one, other), loss in ratios.items()
            if all(x == 1 - y for x, y in zip(one, other, strict=True))
            and sum(x != y for x, y in itertools.pairwise(one)) == changes
        ]
        assert epsilon == pytest.approx(max(opposite)), changes


def test_too_many_reports_of_inputs_that_change_are_refused() -> None:
    with pytest.raises(TooManyReports, match="6 reports of"):
        changing_epsilons(RepeatedResponse(size=4, epsilon=1.0, lifetime=2.0), reports=6)
