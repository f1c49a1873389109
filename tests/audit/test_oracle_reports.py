"""Oracles keep their epsilon at their real width, and so do several users in one call."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.audit.oracle_reports import oracle_differences, wide_claim
from stream_ldp.mechanisms import (
    DirectResponse,
    Entropy,
    FrequencyOracle,
    HadamardResponse,
    SetHadamardResponse,
    UnaryResponse,
)
from tests.audit import broken

WIDE: list[FrequencyOracle] = [
    SetHadamardResponse(size=16, slots=4, epsilon=3.0, hash_bits=3),
    SetHadamardResponse(size=5_000, slots=20, epsilon=2.0, hash_bits=6),
    DirectResponse(size=50, dummies=6, epsilon=2.0),
    # More choices than are all played.
    DirectResponse(size=300_000, dummies=60, epsilon=3.0),
    HadamardResponse(size=3_000, epsilon=3.0, hash_bits=5),
]


@pytest.mark.parametrize("oracle", WIDE, ids=repr)
def test_an_oracle_loses_exactly_epsilon_at_its_real_width(oracle: FrequencyOracle) -> None:
    found = wide_claim(oracle)
    assert found is not None
    assert found.claimed == oracle.epsilon
    assert found.enumerated == pytest.approx(oracle.epsilon, abs=1e-9, rel=0)


@pytest.mark.parametrize(
    "oracle",
    # All slots of a set of all values are played, of which the last has 3,000; the first is a narrow second.
    [pytest.param(each, marks=pytest.mark.long if each in (WIDE[0], WIDE[-1]) else ()) for each in WIDE],
    ids=repr,
)
def test_an_honest_oracle_has_no_differences(oracle: FrequencyOracle) -> None:
    assert list(oracle_differences(oracle, padding=oracle.set_slots or 6)) == []


def test_an_oracle_with_a_decision_for_each_value_is_not_enumerated_at_its_real_width() -> None:
    assert wide_claim(UnaryResponse(size=1_000, epsilon=2.0)) is None


@pytest.mark.parametrize("slots", [4, 20])
def test_a_hash_too_many_is_an_infinite_loss_although_a_miniature_has_none(slots: int) -> None:
    oracle = broken.KeepsAHashTooMany(size=1_024, slots=slots, epsilon=3.0, hash_bits=6 if slots > 4 else 3)
    found = wide_claim(oracle)
    assert found is not None
    if slots == 4:
        assert found.enumerated == math.inf
    assert found.enumerated > oracle.epsilon + 0.01


class SpendsTwiceWhereWide(DirectResponse):
    """Keeps its value as if it might spend twice epsilon where there are more than 40 choices."""

    def respond(self, values: NDArray[np.int64], *, entropy: Entropy) -> NDArray[np.int64]:
        epsilon = 2 * self.epsilon if self.counters > 40 else self.epsilon
        spent = DirectResponse(size=self.size, dummies=self.dummies, epsilon=epsilon)
        return spent.respond(values, entropy=entropy)


@pytest.mark.parametrize("size", [50, 300_000])
def test_a_direct_response_that_spends_more_where_it_is_wide_is_caught(size: int) -> None:
    found = wide_claim(SpendsTwiceWhereWide(size=size, epsilon=2.0))
    assert found is not None
    assert found.enumerated == pytest.approx(4.0, abs=1e-3)


def test_a_slot_too_few_for_large_paddings_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    sampled = FrequencyOracle.sampled

    def too_few(self: FrequencyOracle, *sets: Any, padding: int, entropy: Entropy) -> Any:
        return sampled(self, *sets, padding=padding - (padding > 3), entropy=entropy)

    monkeypatch.setattr(FrequencyOracle, "sampled", too_few)
    oracle = DirectResponse(size=50, dummies=6, epsilon=2.0)
    (found, *_) = oracle_differences(oracle, padding=6)
    assert "DirectResponse.sampled, a set of 0 of 50 values" in found
    assert list(oracle_differences(oracle, padding=3)) == []


class PerturbsTheFirstUserOnly(HadamardResponse):
    """Sends all users of a call but the first the same noise."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        rows = [HadamardResponse.perturb(self, values[:1], entropy=entropy)]
        return (
            np.concatenate([rows[0]] * len(values))
            if len(values)
            else HadamardResponse.perturb(self, values, entropy=entropy)
        )


def test_users_who_share_their_noise_are_caught() -> None:
    (found,) = oracle_differences(PerturbsTheFirstUserOnly(size=50, epsilon=2.0), padding=6)
    assert "3 users in a call" in found
