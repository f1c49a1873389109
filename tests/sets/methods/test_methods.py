"""Tests of the promises that every method in the table makes."""

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import RESOLUTION, SeededEntropy, random_words
from stream_ldp.sets.evaluation import run_epoch
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.phases import Inquiry, RankingEstimate, Target, epoch_epsilon
from stream_ldp.sets.sampling import respond
from tests.sets.methods.examples import build, method, population

#: Noise so small that only sampling is left.
NOISELESS = 15.0


ALL = pytest.mark.parametrize("kind", list(METHODS))


@ALL
def test_every_user_spends_exactly_epsilon_in_an_epoch(kind: str) -> None:
    phases = build(kind).phases
    assert [phase.number for phase in phases] == list(range(1, len(phases) + 1))
    words = np.concatenate([np.linspace(0, RESOLUTION - 1, 1_001).astype(np.uint32), [np.uint32(RESOLUTION - 1)]])
    spent = sum(phase.asks(words) * phase.epsilon for phase in phases)
    assert spent == pytest.approx(np.full(len(words), 2.0), abs=1e-12)
    assert epoch_epsilon(build(kind)) == pytest.approx(2.0, abs=1e-12)


@ALL
def test_with_hardly_any_noise_the_true_ranking_is_found(kind: str) -> None:
    """Seeded. 20,000 users; the items' frequencies differ by 0.2, sampling errors are below 0.03."""
    sets = population(20_000)
    estimate = run_epoch(build(kind, epsilon=NOISELESS), sets, entropy=SeededEntropy(2))
    assert estimate.items[:4].tolist() == [0, 1, 2, 3]
    assert estimate.frequency[:4] == pytest.approx(sets.frequencies(60)[:4], abs=0.1)
    assert (np.diff(estimate.frequency) <= 0.0).all()


@ALL
def test_estimates_are_unbiased_and_their_standard_errors_hold(kind: str) -> None:
    """Seeded. The true item 0 is a candidate of all 40 epochs; z values of its estimate, by noise and sampling alone.

    A mean of 40 beyond 0.8 comes up once in 2 million honest runs, a deviation above 1.5 once in 10,000. Below 0.35,
    less than a tenth of the variance would be noise.
    """
    sets = population(5_000)
    truth = sets.frequencies(60)[0]
    scores = []
    for seed in range(40):
        estimate = run_epoch(build(kind, epsilon=4.0), sets, entropy=SeededEntropy(seed))
        (place,) = np.flatnonzero(estimate.items == 0)
        unseen = 0.0 if estimate.unseen is None else estimate.unseen[place]
        noise = np.sqrt(estimate.standard_error[place] ** 2 - unseen**2)
        scores.append((estimate.frequency[place] - truth) / noise)
    assert abs(np.mean(scores)) < 0.8
    assert 0.35 < np.std(scores) < 1.5


@ALL
def test_every_phase_ends_even_if_nobody_reports(kind: str) -> None:
    estimate = run_epoch(build(kind), ItemSets.of([]), entropy=SeededEntropy(0))
    assert len(estimate.items) >= 4
    assert estimate.frequency.tolist() == [0.0] * len(estimate.items)
    assert np.isinf(estimate.standard_error).all()


@ALL
def test_a_phase_without_reports_leaves_earlier_estimates_unchanged(kind: str) -> None:
    chosen = build(kind)
    sets = population(2_000)
    estimate: RankingEstimate | None = None
    inquiry: Inquiry | None = chosen.first()
    first: RankingEstimate | None = None
    while inquiry is not None:
        sums: NDArray[np.int64] = np.zeros(chosen.oracle(inquiry).counters, dtype=np.int64)
        reports = 0
        if first is None:
            rows = chosen.oracle(inquiry).perturb(sets.items[:2_000], entropy=SeededEntropy(1))
            sums, reports = chosen.oracle(inquiry).sums(rows), len(rows)
        estimate, inquiry = chosen.solve(inquiry, sums=sums, reports=reports, before=estimate)
        first = first or estimate
    assert estimate is not None
    assert first is not None
    assert estimate.items.tolist() == first.items[: len(estimate.items)].tolist()
    assert estimate.frequency.tolist() == first.frequency[: len(estimate.items)].tolist()


@ALL
def test_common_items_are_found_among_empty_sets_and_sets_larger_than_l(kind: str) -> None:
    """Seeded. Half of the users hold nothing, half 20 items of which only two are common."""
    rng = np.random.default_rng(1)
    sets = ItemSets.of(
        [] if user % 2 else [0, 1, *(2 + rng.choice(58, size=18, replace=False)).tolist()] for user in range(20_000)
    )
    estimate = run_epoch(build(kind, k=2, epsilon=NOISELESS), sets, entropy=SeededEntropy(3))
    assert set(estimate.items[:2].tolist()) == {0, 1}


@ALL
def test_k_may_be_the_whole_domain(kind: str) -> None:
    chosen = method(kind, domain=5, k=5, epsilon=4.0, set_size=2)
    estimate = run_epoch(chosen, ItemSets.of([[0, 1], [4], []] * 500), entropy=SeededEntropy(4))
    assert sorted(estimate.items.tolist()) == [0, 1, 2, 3, 4]


@ALL
def test_a_phase_passes_on_what_the_candidates_of_a_ranking_hold_and_nothing_else(kind: str) -> None:
    """The service solves a phase with the published ranking of the one before, and other workers with the same."""
    chosen, sets = build(kind, k=6, set_size=3), population(4_000)
    whole = run_epoch(chosen, sets, entropy=SeededEntropy(6))
    entropy = SeededEntropy(6)
    words = random_words(len(sets), entropy=entropy)
    inquiry: Inquiry | None = chosen.first()
    published: RankingEstimate | None = None
    while inquiry is not None:
        users = sets.take(np.flatnonzero(chosen.phases[inquiry.phase - 1].asks(words)))
        rows = respond(chosen, inquiry, users, entropy=entropy)
        sums = chosen.oracle(inquiry).sums(rows)
        found, inquiry = chosen.solve(inquiry, sums=sums, reports=len(rows), before=published)
        published = RankingEstimate(items=found.items, frequency=found.frequency, standard_error=found.standard_error)
    assert found.items.tolist() == whole.items.tolist()
    assert found.standard_error.tolist() == whole.standard_error.tolist()
    assert (found.unseen is None) == (whole.unseen is None)
    if found.unseen is not None and whole.unseen is not None:
        assert found.unseen.tolist() == whole.unseen.tolist()


def test_only_svim_counts_candidates() -> None:
    asked = {kind: [phase.asked for phase in build(kind).phases] for kind in METHODS}
    assert asked.pop("svim") == [Target.ITEM, Target.COUNT, Target.ITEM]
    assert {question for phases in asked.values() for question in phases} == {Target.ITEM}


@pytest.mark.parametrize("kind", ["gfim", "gfim-users", "ldpminer"])
def test_without_a_set_size_the_items_of_sets_of_any_size_are_found_with_their_frequencies(kind: str) -> None:
    """Sets of 1, 2 and 20 items. One slot alone would count the first item for half; errors are up to 0.06."""
    rng = np.random.default_rng(3)
    sets = [[0], [1, 0], [*range(20)]] * 4_000
    subject = method(kind, domain=60, k=4, k_max=8, epsilon=NOISELESS)
    assert subject.first().padding == 1
    people = ItemSets.of([sets[each] for each in rng.permutation(len(sets))])
    estimate = run_epoch(subject, people, entropy=SeededEntropy(5))
    found = dict(zip(estimate.items.tolist(), estimate.frequency.tolist(), strict=True))
    assert found[0] == pytest.approx(1.0, abs=0.25)
    assert found[1] == pytest.approx(2 / 3, abs=0.25)
    others = [each for item, each in found.items() if 2 <= item < 20]
    assert others == pytest.approx([1 / 3] * len(others), abs=0.25)
