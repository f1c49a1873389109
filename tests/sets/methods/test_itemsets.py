"""Tests of SVSM, which guesses itemsets from items, and lets other users count them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.mechanisms import RESOLUTION, SeededEntropy
from stream_ldp.sets.evaluation import run_epoch, run_phases
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.itemsets import SVSM, likeliest
from stream_ldp.sets.phases import Inquiry, RankingEstimate, Target, epoch_epsilon, item_phases, itemsets_of
from tests.sets.methods.examples import build


def asked(kind: str = "svim", *, itemsets: int = 3, sizes: tuple[int, ...] = (2, 3), **options: object) -> SVSM:
    return SVSM(method=build(kind, **options), itemsets=itemsets, sizes=sizes, hash_bits=None)


#: A third of the users hold 0, 1 and 2 together, a third 0 and 3, and the rest 4.
TOGETHER = ItemSets.of([[0, 1, 2], [0, 3], [4]] * 5_000)


@pytest.mark.parametrize("kind", ["svim", "gfim", "gfim-users", "ldpminer"])
def test_a_user_spends_no_more_than_for_items_and_nobody_is_asked_about_both(kind: str) -> None:
    method = asked(kind)
    assert epoch_epsilon(method) == pytest.approx(epoch_epsilon(method.method))
    items = item_phases(method)
    assert [phase.sizes for phase in method.phases] == [()] * items + [(2, 3)] * 2
    assert [phase.asked for phase in method.phases[items:]] == [Target.COUNT, Target.ITEM]
    start = min(phase.share[0] for phase in method.phases[items:])
    assert max(phase.share[1] for phase in method.phases[:items]) <= start == round(0.4 * RESOLUTION)
    assert method.phases[-1].share[1] == RESOLUTION


@pytest.mark.parametrize("kind", ["svim", "gfim-users"])
def test_with_hardly_any_noise_the_true_itemsets_are_found_with_their_shares(kind: str) -> None:
    """Seeded. Shares are known to 0.01 of 11,500 users in the last phase; itemsets that nobody holds have 0."""
    estimate = run_epoch(asked(kind, itemsets=5, epsilon=15.0), TOGETHER, entropy=SeededEntropy(1))
    found = dict(zip(itemsets_of(estimate.items), estimate.frequency.tolist(), strict=True))
    assert found.keys() == {(0, 1), (0, 2), (0, 3), (1, 2), (0, 1, 2)}
    assert list(found.values()) == pytest.approx([1 / 3] * 5, abs=0.02)
    assert (np.diff(estimate.frequency) <= 0).all()


def test_estimates_of_itemsets_are_within_their_errors() -> None:
    """Seeded. 5 itemsets in 20 epochs at epsilon 2; of intervals of 95 %, less than .84 hold once in 10,000 runs."""
    held = []
    for seed in range(20):
        estimate = run_epoch(asked(itemsets=5), TOGETHER, entropy=SeededEntropy(seed))
        truth = TOGETHER.restricted(estimate.items, domain=60).frequencies(len(estimate.items))
        held += (np.abs(estimate.frequency - truth) <= 1.96 * estimate.standard_error).tolist()
    assert np.mean(held) >= 0.84


def test_the_itemsets_that_are_published_are_shrunk_for_the_luck_of_their_choice() -> None:
    """Seeded. Of 60 items that are held at random, itemsets differ by noise, and the best by luck alone."""
    generator = np.random.default_rng(0)
    sets = ItemSets.of(generator.choice(60, size=(10_000, 5)).tolist())
    over = []
    for seed in range(5):
        estimate = run_epoch(asked(sizes=(2,)), sets, entropy=SeededEntropy(seed))
        truth = sets.restricted(estimate.items, domain=60).frequencies(len(estimate.items))
        over += ((estimate.frequency - truth) / estimate.standard_error).tolist()
    assert np.mean(over) < 1.0


def test_guesses_are_sent_in_one_order_and_the_items_stay_as_they_were() -> None:
    method = asked(epsilon=15.0)
    phases = list(run_phases(method, TOGETHER, entropy=SeededEntropy(2)))
    (_, items), (_, counted) = phases[2], phases[3]
    assert counted is items
    _, following = method.solve(
        _inquiry(method), sums=np.zeros(method.oracle(_inquiry(method)).counters, np.int64), reports=0, before=items
    )
    assert following is not None
    assert following.phase == 4
    listed = following.listed
    assert listed is not None
    assert list(listed) == sorted(listed)
    assert all(len(each) in (2, 3) and list(each) == sorted(set(each)) for each in listed if isinstance(each, tuple))


def test_itemsets_that_nearly_all_hold_have_the_error_of_what_few_lack() -> None:
    """Seeded. Each of 30 items is lacked by 1 in 50: with a slot for each guess held, errors would be 0.03."""
    generator = np.random.default_rng(4)
    sets = ItemSets.of(np.flatnonzero(row).tolist() for row in generator.random((20_000, 30)) < 0.98)
    method = asked(domain=30, k=8, itemsets=10)
    *_, (_, estimate) = run_phases(method, sets, entropy=SeededEntropy(6))
    truth = sets.restricted(estimate.items, domain=30).frequencies(len(estimate.items))
    assert np.mean(np.abs(estimate.frequency - truth)) < 0.015
    assert (np.abs(estimate.frequency - truth) < 3.0 * estimate.standard_error).all()


def test_guesses_reach_further_where_frequencies_are_less_certain() -> None:
    """Items beyond 1 by noise are not held by all: pairs of more of them come before triples of a few."""

    def triples(error: float) -> int:
        items = RankingEstimate(
            items=np.arange(8),
            frequency=np.array([1.1, 1.05, 1.02, 1.0, 0.97, 0.95, 0.93, 0.9]),
            standard_error=np.full(8, error),
        )
        return sum(len(each) == 3 for each in itemsets_of(asked(itemsets=4, k_max=8)._guessed(items)))

    assert triples(0.1) < triples(0.001)


def _inquiry(method: SVSM) -> Inquiry:
    return Inquiry(phase=3, candidates=np.arange(8), padding=2)


def _guesses(frequency: list[float]) -> int:
    """Return how many itemsets are guessed where items have these frequencies."""
    items = RankingEstimate(
        items=np.arange(len(frequency)), frequency=np.array(frequency), standard_error=np.full(len(frequency), 0.01)
    )
    _, following = asked(itemsets=4, k_max=8).solve(
        _inquiry(asked()),
        sums=np.zeros(500, np.int64)[: asked().oracle(_inquiry(asked())).counters],
        reports=0,
        before=items,
    )
    assert following is not None
    assert following.candidates is not None
    return len(following.candidates)


def test_more_itemsets_are_guessed_where_sets_hold_few_of_them() -> None:
    """Twice as many as are wanted of items that everybody holds; 16 times as many of rare ones."""
    assert _guesses([0.99] * 8) == 8
    assert _guesses([0.05] * 8) == 64


@given(
    st.lists(st.floats(0.0, 1.0), max_size=6).map(lambda shares: sorted(shares, reverse=True)),
    st.sets(st.integers(2, 4), min_size=1),
)
def test_itemsets_are_listed_by_the_products_of_their_items(frequency: list[float], sizes: set[int]) -> None:
    found = list(likeliest(np.array(frequency), sizes=sorted(sizes)))
    every = [places for size in sizes for places in itertools.combinations(range(len(frequency)), size)]
    assert sorted(places for _, places in found) == sorted(every)
    products = [product for product, _ in found]
    assert products == sorted(products, reverse=True)
    inside = np.clip(frequency, 1e-6, 1 - 1e-6)
    assert products == pytest.approx([math.prod(inside[list(places)]) for _, places in found])
