"""A method that asks for the size of sets pads to what it finds, and asks nobody anything else as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_ldp.mechanisms import RESOLUTION, HadamardResponse, SeededEntropy, SetHadamardResponse
from stream_ldp.sets.evaluation import run_phases
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.methods.asked_size import SIZE_PART, class_shares
from stream_ldp.sets.methods.spec import ASK
from stream_ldp.sets.phases import FoundSizes, Inquiry, Method, Target, epoch_epsilon
from stream_ldp.sets.sampling import respond
from tests.sets.methods.examples import build, scored

ASKING = [kind for kind in METHODS if kind != "loloha"]
ALL = pytest.mark.parametrize("kind", ASKING)


def sets_of(size: int, *, users: int, domain: int = 60) -> ItemSets:
    """Sets of one size; item i is in so many sets as each before it, or fewer."""
    rng = np.random.default_rng(size)
    return ItemSets.of(
        np.argsort(rng.random(domain) * np.arange(2, domain + 2))[:size].tolist() for _ in range(users)
    )


@ALL
def test_a_tenth_is_asked_for_sizes_and_nobody_pays_more_than_epsilon(kind: str) -> None:
    method, alone = build(kind, set_size=ASK), build(kind, set_size=None)
    first, *others = method.phases
    assert (first.asked, first.number, first.epsilon) == (Target.SIZE, 1, 2.0)
    assert first.part == pytest.approx(SIZE_PART, abs=1e-9)
    words = np.linspace(0, RESOLUTION - 1, 10_001).astype(np.uint32)
    assert not any(phase.asks(words[first.asks(words)]).any() for phase in others)
    for phase, original in zip(others, alone.phases, strict=True):
        assert (phase.number, phase.epsilon) == (original.number + 1, original.epsilon)
        assert phase.part == pytest.approx(0.9 * original.part, abs=1e-8)
    assert epoch_epsilon(method) == 2.0


@pytest.mark.parametrize(("size", "slots"), [(1, 1), (2, 2), (7, 8), (30, 32), (60, 60)])
def test_sets_of_one_size_are_padded_to_the_least_power_of_two_that_holds_them(size: int, slots: int) -> None:
    """Seeded; 4,000 users say how large their sets are."""
    method = build("gfim-users", epsilon=4.0, set_size=ASK)
    assert _following(method, sets_of(size, users=4_000)).padding == slots


def test_the_slots_of_a_few_large_sets_are_not_forced_on_all() -> None:
    """Nine in ten sets hold one item, and the others 60: slots for those would multiply the noise."""
    method = build("gfim-users", epsilon=4.0, set_size=ASK)
    few = ItemSets.of([[user % 7] if user % 10 else range(60) for user in range(4_000)])
    assert _following(method, few).padding <= 2


def _following(method: Method, sets: ItemSets) -> Inquiry:
    inquiry = method.first()
    rows = respond(method, inquiry, sets, entropy=SeededEntropy(1))
    sums = method.oracle(inquiry).sums(rows)
    estimate, following = method.solve(inquiry, sums=sums, reports=len(rows), before=None)
    assert not len(estimate.items)
    assert following is not None
    assert (following.phase, following.candidates) == (2, None)
    assert following.sizes is not None
    return following


@ALL
def test_where_nobody_says_a_size_later_phases_do_what_the_method_of_the_usual_size_does(kind: str) -> None:
    asked = build(kind, set_size=ASK)
    first = asked.first()
    _, usual = asked.solve(first, sums=asked.oracle(first).neutral_sums(0), reports=0, before=None)
    assert usual is not None
    told = build(kind, set_size=usual.padding)
    sums = {}
    for method in (asked, told):
        inquiry: Inquiry | None = usual
        if method is told:
            inquiry = method.first()
        estimate = None
        while inquiry is not None:
            oracle = method.oracle(inquiry)
            rows = respond(method, inquiry, sets_of(7, users=300), entropy=SeededEntropy(3))
            estimate, inquiry = method.solve(inquiry, sums=oracle.sums(rows), reports=len(rows), before=estimate)
        assert estimate is not None
        sums[method is told] = (
            estimate.items.tolist(),
            estimate.frequency.tolist(),
            estimate.standard_error.tolist(),
        )
    assert sums[True] == sums[False]


def test_without_reports_sizes_are_as_usual_and_with_many_as_reported() -> None:
    nobody = class_shares(None, classes=7)
    assert nobody.sum() == pytest.approx(1.0)
    assert (np.diff(nobody) < 0.0).all()
    many = FoundSizes(share=(0.0, -0.01, 0.5, 0.0, 0.01, 0.5, 0.0), standard_error=0.01)
    assert class_shares(many, classes=7) == pytest.approx([0, 0, 0.5, 0, 0, 0.5, 0], abs=0.02)


@pytest.mark.parametrize("size", [1, 3, 8, 20])
def test_what_a_set_shows_of_an_item_is_as_measured(size: int) -> None:
    """Seeded. All of 20,000 sets have one item, and others at random; the estimate's standard error is 0.012."""
    oracle, item = SetHadamardResponse(size=1_024, slots=4, epsilon=3.0, hash_bits=4), 613
    rng = np.random.default_rng(size)
    sets = ItemSets.of([item, *rng.choice(item, size - 1, replace=False).tolist()] for _ in range(20_000))
    rows = oracle.perturb_sets(sets.offsets, sets.items, padding=4, entropy=SeededEntropy(5))
    measured = oracle.estimate(oracle.sums(rows), reports=len(rows))[item]
    assert measured == pytest.approx(float(oracle.shown(np.array([float(size)]), padding=4)[0]), abs=0.05)


def test_one_slot_shows_an_item_of_s_with_a_chance_of_1_in_s() -> None:
    one = HadamardResponse(size=1_024, epsilon=3.0)
    assert one.shown(np.array([2.0, 8.0]), padding=4).tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("epsilon", "size", "gain"), [(1.0, 1, 0.02), (1.0, 30, 0.3), pytest.param(2.0, 8, 0.05, marks=pytest.mark.long)]
)
def test_asking_finds_more_than_not_knowing(epsilon: float, size: int, gain: float) -> None:
    """Seeded; 20,000 users, six repeats. The mean NDCG gains more than twice as much."""
    sets = sets_of(size, users=5_000, domain=200)
    found: dict[Any, float] = {}
    for options in ({}, {"set_size": ASK}):
        results = scored(sets, users=20_000, repeats=6, kind="gfim-users", k=8, epsilon=epsilon, **options)
        found[bool(options)] = float(np.mean([each["ndcg"] for each in results]))
    assert found[True] > found[False] + gain


def test_an_epoch_runs_from_sizes_to_a_ranking() -> None:
    method = build("gfim-users", epsilon=4.0, set_size=ASK)
    phases = list(run_phases(method, sets_of(7, users=4_000), entropy=SeededEntropy(6)))
    assert [phase.number for phase, _ in phases] == [1, 2, 3, 4]
    assert len(set(phases[-1][1].items[:4].tolist()) & {0, 1, 2, 3}) >= 3
