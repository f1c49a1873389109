"""The attacks on oracles and item sets: how close they come, that they accuse nobody, and whom they catch.

All randomness is seeded. The stated rates are those at which a test would fail with another seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stream_ldp.audit import item_attacks
from stream_ldp.audit.attacks import SINGLE_USERS
from stream_ldp.audit.item_attacks import oracle_attacks, set_attacks
from stream_ldp.audit.item_enumeration import inquiries
from stream_ldp.mechanisms import DirectResponse, HadamardResponse, SeededEntropy, SetHadamardResponse, UnaryResponse
from stream_ldp.sets.phases import Target
from tests.audit import broken
from tests.audit.test_attacks import FEW, is_disproved
from tests.audit.test_item_enumeration import EVERYBODY, Asking, direct, hadamard, phases, unary
from tests.sets.methods.examples import method

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.mechanisms import Entropy, FrequencyOracle
    from stream_ldp.sets.phases import Method

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


@pytest.mark.parametrize("oracle", HONEST, ids=repr)
def test_an_attack_on_an_oracle_finds_90_to_100_percent_of_epsilon(oracle: FrequencyOracle) -> None:
    """With 100,000 reports of each value: more than 90 % of epsilon; the least over 10 seeds was 0.95."""
    attack, *_ = oracle_attacks(oracle, noise=seeded(1))
    found = attack.run(trials=100_000, confidence=0.9999, entropy=SeededEntropy(2))
    assert 0.9 * oracle.epsilon < found.epsilon <= oracle.epsilon
    assert not is_disproved(oracle_attacks(oracle, noise=seeded(3)), trials=FEW)


@pytest.mark.parametrize("make", [direct, hadamard, unary])
def test_an_attack_on_an_epoch_finds_80_to_100_percent_of_epsilon(make: Any) -> None:
    """Sets of two of eight items, two phases: with 200,000 users with each set, more than 80 % of epsilon.

    Over 10 seeds, the least was 0.88, of unary responses.
    """
    parts = phases((Target.ITEM, EVERYBODY, 1.0), (Target.ITEM, EVERYBODY, 1.0))
    asking = Asking(phases=parts, make=make, padding=2, domain=8, named=8)
    epoch = next(each for each in set_attacks(asking, noise=seeded(1)) if each.target == "epoch")
    assert epoch.claimed == 2.0
    found = epoch.run(trials=200_000, confidence=0.9999, entropy=SeededEntropy(2))
    assert 0.8 * epoch.claimed < found.epsilon <= epoch.claimed


@pytest.mark.parametrize(
    "shipped",
    [
        method("gfim", domain=64, k=3, epsilon=4.0, set_size=2, hash_bits=1),
        method("gfim-users", domain=64, k=3, epsilon=4.0, set_size=2, hash_bits=2),
        method("ldpminer", domain=64, k=3, epsilon=4.0, set_size=2, hash_bits=1),
        method("svim", domain=64, k=3, epsilon=4.0, hash_bits=2),
        method("gfim", domain=1024, k=10, epsilon=4.0, set_size=20),
    ],
    ids=lambda shipped: f"{shipped.name} of {shipped.domain}",
)
def test_an_honest_method_is_not_accused(shipped: Method) -> None:
    planned = set_attacks(shipped, noise=seeded(1))
    # A padding that holds all candidates leaves no set that is larger.
    larger = [
        inquiry.phase
        for inquiry in inquiries(shipped)
        if inquiry.padding < (shipped.domain if inquiry.candidates is None else len(inquiry.candidates))
    ]
    assert 1 in larger
    assert [attack.target for attack in planned] == [
        *(f"phase {phase.number}" for phase in shipped.phases),
        *(f"phase {number}, larger sets" for number in larger),
        "epoch",
        "epoch, singly",
    ]
    assert not is_disproved(planned, trials=FEW)


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
    assert is_disproved(oracle_attacks(twin, noise=seeded(1)))


def test_a_biased_sampler_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(phases=phases((Target.ITEM, EVERYBODY, 1.0)), make=direct)
    assert not is_disproved(set_attacks(asking, noise=seeded(1)))
    for respond in (broken.respond_without_padding, broken.respond_with_the_first_item):
        monkeypatch.setattr(item_attacks, "respond", respond)
        assert is_disproved(set_attacks(asking, noise=seeded(1)))


def test_an_oracle_that_tells_an_empty_set_from_others_is_caught() -> None:
    """Sets of one item and of four have dummies as often as any; only the empty one has nothing else."""
    asking = Asking(
        phases=phases((Target.ITEM, EVERYBODY, 1.0)),
        make=lambda size, padding, epsilon: broken.SendsDummiesPlainly(size=size, epsilon=epsilon),
    )
    assert is_disproved(set_attacks(asking, noise=seeded(1)))


@pytest.mark.parametrize(
    "oracle",
    # Of the largest, the attacks take the longest and are no others.
    [pytest.param(each, marks=pytest.mark.long if each.size >= 1_000 else ()) for each in HONEST],
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
