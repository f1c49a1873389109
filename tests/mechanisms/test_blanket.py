"""Blankets bound what shuffled reports tell of a user as the lemma says, and never below what they do tell."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import (
    KRR,
    RRLDP,
    BloomResponse,
    DirectResponse,
    HadamardResponse,
    OptimisedUnaryResponse,
    Randomizer,
    RepeatedResponse,
    SubsetResponse,
    UnaryResponse,
)
from stream_ldp.mechanisms.blanket import MAX_OUTCOMES, Blanket
from stream_ldp.mechanisms.shuffling import shuffled_delta, shuffled_epsilon

PARTS = (0.0, 0.2, 0.5, 0.9, 0.99)


def k_rr(size: int, epsilon: float) -> Blanket:
    own = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
    return Blanket.of_support(own=own, any_value=1 / size, both=0.0)


def lemma(blanket: Blanket, epsilon: float, *, reports: int) -> float:
    """The lemma by its words: over the number of reports of the blanket, and all that they may be."""
    found = []
    for count in range(1, reports + 1):
        share = math.comb(reports, count) * blanket.share**count * (1 - blanket.share) ** (reports - count)
        for outcomes in itertools.product(blanket.outcomes, repeat=count):
            chance = math.prod(each for each, _, _ in outcomes)
            found.append(
                share * chance * max(0.0, sum(one - math.exp(epsilon) * other for _, one, other in outcomes))
            )
    return math.fsum(found) / (reports * blanket.share)


@pytest.mark.parametrize(
    "blanket",
    [
        k_rr(2, 1.0),
        k_rr(16, 2.0),
        Blanket.of_support(own=0.5, any_value=0.2, both=0.04),
        Blanket.of_one_of([(0.3, k_rr(2, 1.0)), (0.7, k_rr(5, 1.0))]),
        Blanket.of_all((k_rr(2, 0.5), k_rr(3, 0.5))),
    ],
    ids=["2 values", "16 values", "bits", "two questions", "two attributes"],
)
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_delta_is_that_of_the_lemma_and_never_below_it(blanket: Blanket, reports: int) -> None:
    assert math.fsum(chance for chance, _, _ in blanket.outcomes) == pytest.approx(1.0)
    assert math.fsum(chance * one for chance, one, _ in blanket.outcomes) == pytest.approx(1.0)
    for epsilon in PARTS:
        exact = lemma(blanket, epsilon, reports=reports)
        found = blanket.delta(epsilon, reports=reports)
        assert exact <= found <= exact * (1 + 1e-3)


Reports = Counter[tuple[int, ...]]


def shuffled(outputs: list[list[Fraction]], values: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """The chance of each multiset of reports of users with these values: how often each report comes."""
    found: dict[tuple[int, ...], Fraction] = {(0,) * len(outputs[0]): Fraction(1)}
    for value in values:
        more: dict[tuple[int, ...], Fraction] = {}
        for counts, chance in found.items():
            for report, of in enumerate(outputs[value]):
                if of:
                    key = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                    more[key] = more.get(key, Fraction(0)) + chance * of
        found = more
    return found


def divergence(one: dict[tuple[int, ...], Fraction], other: dict[tuple[int, ...], Fraction], epsilon: float) -> float:
    odds = math.exp(epsilon)
    return math.fsum(max(0.0, float(chance) - odds * float(other.get(each, 0))) for each, chance in one.items())


@pytest.mark.parametrize(
    "randomizer",
    [
        DirectResponse(size=2, epsilon=1.0),
        DirectResponse(size=3, epsilon=2.0),
        UnaryResponse(size=2, epsilon=1.0),
        UnaryResponse(size=3, epsilon=2.0),
        OptimisedUnaryResponse(size=3, epsilon=1.5),
        HadamardResponse(size=3, epsilon=1.0),
        SubsetResponse(size=4, members=2, epsilon=1.0),
        RepeatedResponse(size=3, epsilon=1.0, lifetime=2.0),
        BloomResponse(size=3, hashes=1, lifetime=2.0, p=0.25, q=0.75),
    ],
    ids=lambda each: f"{each.kind} of {each.size}",
)
def test_no_randomizer_tells_its_users_apart_better_than_its_blanket_says(randomizer: Randomizer) -> None:
    """For all that two or three users hold, of whom one is told apart in either order."""
    outputs = [list(row) for row in randomizer.stated()[: randomizer.size].tolist()]  # type: ignore[attr-defined]
    blanket = randomizer.blanket
    assert blanket is not None
    for users in (1, 2) if len(outputs[0]) > 8 else (1, 2, 3):
        bounds = [blanket.delta(part * randomizer.epsilon, reports=users) for part in PARTS]
        for rest in itertools.combinations_with_replacement(range(len(outputs)), users - 1):
            found = {value: shuffled(outputs, (value, *rest)) for value in range(len(outputs))}
            for one, other in itertools.permutations(found, 2):
                for part, bound in zip(PARTS, bounds, strict=True):
                    assert divergence(found[one], found[other], part * randomizer.epsilon) <= bound


@pytest.mark.parametrize(
    "mechanism",
    [KRR(sizes=(2, 3), attribute_epsilon=0.7), RRLDP(sizes=(2, 2), f=0.5, p=0.25, q=0.75)],
    ids=["k-rr", "rr-ldp"],
)
def test_no_records_are_distinguished_better_than_their_blanket_says(mechanism: KRR | RRLDP) -> None:
    """Of two users, for all that they hold: a record is one of the values of a randomizer, and a report an output."""
    parts = []
    for attribute, (support, size) in enumerate(zip(mechanism.supports, mechanism.sizes, strict=True)):
        one, zero = Fraction(support.one), Fraction(support.zero)
        if isinstance(mechanism, KRR):
            parts.append([[one if said == held else zero for said in range(size)] for held in range(size)])
            continue
        bits = list(itertools.product((0, 1), repeat=size))
        chances = [[one if place == held else zero for place in range(size)] for held in range(size)]
        parts.append(
            [
                [
                    math.prod((c if b else 1 - c for b, c in zip(row, of, strict=True)), start=Fraction(1))
                    for row in bits
                ]
                for of in chances
            ]
        )
        assert attribute < 2
    outputs = [
        [left * right for left, right in itertools.product(parts[0][first], parts[1][second])]
        for first, second in itertools.product(*(range(size) for size in mechanism.sizes))
    ]
    blanket, epsilon = mechanism.blanket, mechanism.privacy_loss().epsilon
    assert blanket is not None
    bounds = [blanket.delta(part * epsilon, reports=2) for part in PARTS]
    for rest in range(len(outputs)):
        found = {held: shuffled(outputs, (held, rest)) for held in range(len(outputs))}
        for held, others in itertools.permutations(found, 2):
            for part, bound in zip(PARTS, bounds, strict=True):
                # Probabilities of supports are floats here.
                assert divergence(found[held], found[others], part * epsilon) <= bound + 1e-12


def test_among_many_reports_the_bound_is_near_what_two_values_tell() -> None:
    """The other 9,999 users have the second value: how often the first is named is a sum of two binomials."""
    own, reports = math.e / (math.e + 1), 10_000
    epsilon = shuffled_epsilon(1.0, reports=reports, delta=1e-6, blanket=k_rr(2, 1.0))
    names = np.arange(reports + 1)
    logs = np.array([math.lgamma(reports) - math.lgamma(n + 1) - math.lgamma(reports - n) for n in names[:-1]])
    others = np.exp(logs + names[:-1] * math.log(1 - own) + (reports - 1 - names[:-1]) * math.log(own))
    one, other = (np.convolve(others, [1 - first, first]) for first in (own, 1 - own))
    exact = float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
    assert exact <= 1e-6
    tighter = float(np.maximum(one - math.exp(0.8 * epsilon) * other, 0.0).sum())
    assert tighter > 1e-6


def test_the_blanket_of_many_values_hides_several_times_better_than_clones_do() -> None:
    for reports in (1_000, 100_000):
        clones = shuffled_epsilon(1.0, reports=reports, delta=1e-8)
        assert shuffled_epsilon(1.0, reports=reports, delta=1e-8, blanket=k_rr(16, 1.0)) < 0.4 * clones


def test_more_reports_hide_better_up_to_a_million_of_them() -> None:
    deltas = [k_rr(4, 2.0).delta(0.05, reports=10**power) for power in range(7)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] == pytest.approx(shuffled_delta(0.05, local=2.0, reports=1), rel=0.5)
    assert deltas[-1] < 1e-30


def test_a_bound_that_is_not_known_is_not_taken_for_one() -> None:
    assert DirectResponse(size=3, dummies=2, epsilon=1.0).blanket is None
    assert BloomResponse(size=8, hashes=2, lifetime=2.0).blanket is None
    many = KRR(sizes=tuple(range(2, 12)), attribute_epsilon=0.3)
    assert 4 ** len(many.sizes) > MAX_OUTCOMES
    assert many.blanket is None
    assert KRR(sizes=(2,) * 12, attribute_epsilon=0.3).blanket is not None, "equal attributes have few outcomes"


def test_arguments_that_mean_nothing_are_refused() -> None:
    for epsilon, reports in ((-0.1, 2), (0.1, 0), (math.nan, 2)):
        with pytest.raises(ParameterError, match=r"no bound"):
            k_rr(2, 1.0).delta(epsilon, reports=reports)
