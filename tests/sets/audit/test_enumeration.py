"""The enumerated loss of whole item sets is the claimed one, and that of broken samplers is larger."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.audit.output_distribution import stated_distribution
from stream_ldp.mechanisms import (
    RESOLUTION,
    DirectResponse,
    Entropy,
    FrequencyOracle,
    HadamardResponse,
    UnaryResponse,
)
from stream_ldp.mechanisms.direct import amplified
from stream_ldp.sets import sampling
from stream_ldp.sets.audit import enumeration as item_enumeration
from stream_ldp.sets.audit.enumeration import ItemEnumeration, inquiries, phases_by_group
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.itemsets import SVSM
from stream_ldp.sets.methods.wrapped import UserSample
from stream_ldp.sets.phases import Inquiry, Method, Phase, RankingEstimate, Target, epoch_epsilon
from tests.audit import broken
from tests.sets.methods.examples import build, method

EVERYBODY = (0, RESOLUTION)
HALVES = ((0, RESOLUTION // 2), (RESOLUTION // 2, RESOLUTION))


@dataclass(frozen=True, kw_only=True)
class Asking:
    """A method that learns nothing: phase 1 asks about all items, the others about the first `named` of them."""

    phases: tuple[Phase, ...]
    make: Callable[[int, int, float], FrequencyOracle]
    padding: int = 4
    domain: int = 40
    named: int = 10
    name: str = "asking"
    k: int = 1

    @property
    def memoising(self) -> None:
        """None: every report is made afresh."""

    def first(self) -> Inquiry:
        return Inquiry(phase=1, candidates=None, padding=self.padding)

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        size = self.domain if inquiry.candidates is None else len(inquiry.candidates)
        phase = self.phases[inquiry.phase - 1]
        if phase.asked is Target.COUNT:
            return DirectResponse(size=size + 1, epsilon=phase.epsilon)
        return self.make(size, inquiry.padding, phase.epsilon)

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        nothing = np.zeros(self.named)
        estimate = RankingEstimate(items=np.arange(self.named), frequency=nothing, standard_error=nothing)
        if inquiry.phase == len(self.phases):
            return estimate, None
        return estimate, Inquiry(phase=inquiry.phase + 1, candidates=estimate.items, padding=self.padding)


def phases(*parts: tuple[Target, tuple[int, int], float]) -> tuple[Phase, ...]:
    return tuple(
        Phase(number=number, asked=asked, share=share, epsilon=epsilon)
        for number, (asked, share, epsilon) in enumerate(parts, start=1)
    )


def direct(size: int, padding: int, epsilon: float) -> FrequencyOracle:
    return DirectResponse(size=size, dummies=padding, epsilon=amplified(epsilon, padding=padding))


def hadamard(size: int, padding: int, epsilon: float) -> FrequencyOracle:
    return HadamardResponse(size=size, epsilon=epsilon)


def hashing(size: int, padding: int, epsilon: float) -> FrequencyOracle:
    return HadamardResponse(size=size, epsilon=epsilon, hash_bits=4)


def unary(size: int, padding: int, epsilon: float) -> FrequencyOracle:
    return UnaryResponse(size=size, epsilon=epsilon)


@pytest.mark.parametrize(
    ("make", "epsilon"),
    [
        (direct, 0.5),
        (hadamard, 3.0),
        (unary, 3.0),
        *(pytest.param(*each, marks=pytest.mark.long) for each in [(direct, 3.0), (hadamard, 0.5), (unary, 0.5)]),
        # Of hashes, below: an epoch of gfim costs epsilon.
        pytest.param(hashing, 3.0, marks=pytest.mark.long),
    ],
)
def test_a_report_costs_what_is_claimed(make: Any, epsilon: float) -> None:
    asking = Asking(
        phases=phases((Target.ITEM, EVERYBODY, epsilon), (Target.ITEM, EVERYBODY, epsilon / 2)), make=make
    )
    found = ItemEnumeration.realised(asking)
    assert found == ItemEnumeration.stated(asking)
    for phase in found.phases:
        assert phase.claimed <= phase.allowed
        # What the rounding of a probability takes, more where it is small.
        assert phase.claimed == pytest.approx(phase.allowed, abs=1e-7)
        assert phase.epsilon == pytest.approx(phase.claimed, abs=1e-9, rel=0)
    assert found.epsilon == pytest.approx(found.claimed, abs=1e-9, rel=0)
    assert found.allowed == 1.5 * epsilon


def test_the_costs_of_phases_that_ask_different_users_are_not_added_up() -> None:
    """One pays 1 and 0.25, the other 1 and 2: no more than 3."""
    parts = phases((Target.ITEM, EVERYBODY, 1.0), (Target.COUNT, HALVES[0], 0.25), (Target.ITEM, HALVES[1], 2.0))
    found = ItemEnumeration.realised(Asking(phases=parts, make=hadamard))
    assert found.phases_by_group == ((1, 2), (1, 3))
    assert found.allowed == 3.0
    assert found.epsilon == pytest.approx(found.claimed, abs=1e-9, rel=0)
    assert found.claimed == pytest.approx(3.0, abs=1e-8)


@pytest.mark.parametrize(
    ("shipped", "answered"),
    [
        (method("gfim-users", domain=1024, k=10, epsilon=2.0, set_size=20, hash_bits=1), ((1,), (2,), (3,))),
        (method("ldpminer", domain=119, k=10, epsilon=4.0, set_size=23, hash_bits=1), ((1, 2),)),
        (method("svim", domain=4096, k=32, epsilon=2.0, hash_bits=1), ((1,), (2,), (3,))),
        # Of the oracles that a method chooses, one answers for whole sets, which tests/audit enumerates by itself.
        pytest.param(
            method("gfim", domain=64, k=2, epsilon=4.0, set_size=2), ((1, 2), (1, 3)), marks=pytest.mark.long
        ),
        # The same phases as those before, of larger domains and hashes of more bits.
        pytest.param(
            method("gfim-users", domain=1024, k=10, epsilon=2.0, set_size=20, hash_bits=2),
            ((1,), (2,), (3,)),
            marks=pytest.mark.long,
        ),
        pytest.param(
            method("gfim", domain=1024, k=10, epsilon=4.0, set_size=20, hash_bits=1),
            ((1, 2), (1, 3)),
            marks=pytest.mark.long,
        ),
        pytest.param(
            method("gfim", domain=1024, k=10, epsilon=4.0, set_size=20), ((1, 2), (1, 3)), marks=pytest.mark.long
        ),
        pytest.param(
            method("svim", domain=4096, k=32, epsilon=2.0, hash_bits=3), ((1,), (2,), (3,)), marks=pytest.mark.long
        ),
        pytest.param(
            method("svim", domain=1024, k=10, epsilon=1.0, set_size=20), ((1,), (2,), (3,)), marks=pytest.mark.long
        ),
        pytest.param(
            SVSM(method=build("svim", hash_bits=1), itemsets=3, sizes=(2, 3), hash_bits=1),
            ((1,), (2,), (3,), (4,), (5,)),
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_an_epoch_costs_epsilon_and_no_more(shipped: Method, answered: tuple[tuple[int, ...], ...]) -> None:
    found = ItemEnumeration.realised(shipped)
    assert found == ItemEnumeration.stated(shipped)
    assert found.phases_by_group == answered
    assert found.allowed == pytest.approx(epoch_epsilon(shipped))
    assert found.claimed <= found.allowed
    assert found.claimed == pytest.approx(found.allowed, abs=1e-7)
    # Oracles of several sizes are enumerated, each with probabilities rounded to multiples of 2^-32.
    assert found.claimed - 1e-8 < found.epsilon <= found.claimed + 1e-9


def test_two_phases_are_enumerated_as_one_joint_output() -> None:
    """All pairs of sets and of answers to both phases, one by one; the server's second question as it may be."""
    parts = phases((Target.ITEM, EVERYBODY, 1.0), (Target.COUNT, EVERYBODY, 0.5))
    asking = Asking(phases=parts, make=hadamard, padding=2)
    found = ItemEnumeration.realised(asking)
    oracle = HadamardResponse(size=6, epsilon=asking.oracle(asking.first()).epsilon)
    law = stated_distribution(oracle)
    told = asking.oracle(Inquiry(phase=2, candidates=np.arange(10), padding=2))
    sets = [items for size in range(7) for items in itertools.combinations(range(6), size)]

    def first(items: tuple[int, ...]) -> list[Fraction]:
        slots = [*items, *[6] * (2 - len(items))]
        return [sum(column) / len(slots) for column in law[slots].T.tolist()]

    def second(items: tuple[int, ...], candidates: tuple[int, ...]) -> list[Fraction]:
        counts = DirectResponse(size=len(candidates) + 1, epsilon=told.epsilon)
        chances: list[Fraction] = stated_distribution(counts)[len({*items} & {*candidates})].tolist()
        return chances[: counts.size]

    worst = Fraction(1)
    for candidates in ((5, 4, 3, 2, 1, 0), (4, 1, 3)):
        laws = [
            [one * other for one, other in itertools.product(first(items), second(items, candidates))]
            for items in sets
        ]
        for answer in zip(*laws, strict=True):
            worst = max(worst, max(answer) / min(answer))
    assert found.epsilon == pytest.approx(math.log(worst), abs=1e-9)


@pytest.mark.parametrize(
    ("direct_twin", "hadamard_twin"),
    [
        (broken.DirectWithoutPadding, broken.HadamardWithoutPadding),
        (broken.DirectOfTheFirstValue, broken.HadamardOfTheFirstValue),
    ],
)
def test_a_biased_sampler_is_caught(direct_twin: Any, hadamard_twin: Any) -> None:
    """The report of one slot of three spends more than its share: all of ln(3 (e - 1) + 1) = 1.82 instead of 1."""

    def spends_more(size: int, padding: int, epsilon: float) -> FrequencyOracle:
        oracle: FrequencyOracle = direct_twin(size=size, dummies=padding, epsilon=amplified(epsilon, padding=padding))
        return oracle

    asking = Asking(phases=phases((Target.ITEM, EVERYBODY, 1.0)), make=spends_more)
    found = ItemEnumeration.realised(asking)
    assert found != ItemEnumeration.stated(asking)
    assert found.epsilon == pytest.approx(amplified(1.0, padding=3), abs=1e-6)
    # Through a hash, no slot may spend more than all: it is as private, but not what is stated.
    hashed = replace(asking, make=lambda size, padding, epsilon: hadamard_twin(size=size, epsilon=epsilon))
    assert ItemEnumeration.realised(hashed) != ItemEnumeration.stated(hashed)
    assert ItemEnumeration.realised(hashed).epsilon <= 1


@pytest.mark.parametrize("respond", [broken.respond_without_padding, broken.respond_with_the_first_item])
def test_a_client_that_samples_in_another_way_is_caught(respond: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the set to the packed report, it is the client's own code that is enumerated."""
    asking = Asking(phases=phases((Target.ITEM, EVERYBODY, 1.0)), make=direct, padding=2)
    assert ItemEnumeration.realised(asking) == ItemEnumeration.stated(asking)

    def reports(sets: ItemSets, *, asked: Target, oracle: FrequencyOracle, entropy: Entropy, **_: Any) -> Any:
        only = replace(asking, make=lambda *_: oracle, domain=oracle.size)
        return respond(only, only.first(), sets, entropy=entropy)

    monkeypatch.setattr(item_enumeration, "reports_of", reports)
    assert ItemEnumeration.realised(asking) != ItemEnumeration.stated(asking)
    assert ItemEnumeration.realised(asking).phases[0].epsilon > 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda size, padding, epsilon: broken.FavoursARow(size=size, epsilon=epsilon),
        lambda size, padding, epsilon: broken.SendsTheNextValue(size=size, dummies=padding, epsilon=epsilon),
    ],
)
def test_a_broken_oracle_is_caught_in_a_phase(make: Any) -> None:
    asking = Asking(phases=phases((Target.ITEM, EVERYBODY, 1.0)), make=make, padding=1)
    assert ItemEnumeration.realised(asking).epsilon == math.inf


def test_an_epoch_that_asks_for_sizes_costs_what_is_claimed() -> None:
    asking = build("gfim-users", epsilon=1.0, set_size="ask", hash_bits=1)
    found = ItemEnumeration.realised(asking)
    assert found == ItemEnumeration.stated(asking)
    assert found.phases_by_group == ((1,), (2,), (3,), (4,))
    assert found.claimed <= found.allowed == 1.0
    assert found.epsilon == pytest.approx(found.claimed, abs=1e-9, rel=0)
    assert [phase.epsilon for phase in found.phases] == pytest.approx([1.0] * 4, abs=1e-7)


def _exact_size(sizes: NDArray[np.int64], *, count: int) -> NDArray[np.int64]:
    return np.minimum(sizes, count - 1)


def test_a_client_that_tells_another_size_than_its_class_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(
        phases=phases((Target.SIZE, EVERYBODY, 1.0)), make=lambda size, _, epsilon: hadamard(size, 1, epsilon)
    )
    assert ItemEnumeration.realised(asking) == ItemEnumeration.stated(asking)
    monkeypatch.setattr(sampling, "classes_of", _exact_size)
    assert list(ItemEnumeration.realised(asking).differences(ItemEnumeration.stated(asking)))


def test_a_size_that_is_told_with_less_noise_is_caught() -> None:
    def loud(size: int, padding: int, epsilon: float) -> FrequencyOracle:
        return DirectResponse(size=size, epsilon=2 * epsilon)

    found = ItemEnumeration.realised(Asking(phases=phases((Target.SIZE, EVERYBODY, 1.0)), make=loud, padding=1))
    assert found.phases[0].allowed == 1.0
    assert found.epsilon == pytest.approx(2.0, abs=1e-6)


def test_an_epoch_without_users_asks_all_phases() -> None:
    svim = method("svim", domain=100, k=5, epsilon=2.0, hash_bits=1)
    assert [inquiry.phase for inquiry in inquiries(svim)] == [1, 2, 3]


def test_a_sample_of_the_users_loses_what_all_users_would() -> None:
    method = build("svim", domain=4, k=1, set_size=1)
    sample = UserSample(method, words=RESOLUTION // 10)
    assert phases_by_group(sample.phases) == phases_by_group(method.phases) == ((1,), (2,), (3,))
