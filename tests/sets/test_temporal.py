"""The results of earlier epochs make the next one better, and what each epoch says alone is published beside it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.sets.answer import EarlierEpochs, FilteredCandidates, Ranking
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.larger_sets import doubted
from stream_ldp.sets.phases import RankingEstimate
from stream_ldp.sets.sampling import respond
from stream_ldp.sets.series import PhaseSeries
from stream_ldp.sets.solve import solve
from stream_ldp.sets.temporal import filter_epoch
from tests.read_back import read_back
from tests.sets.examples import SIZE_MS, collection_of

#: Each set holds one item, of these shares.
SHARES = np.array([0.3, 0.25, 0.15, 0.1, 0.1, 0.1])


def sets_of(count: int, seed: int) -> list[list[int]]:
    return [[item] for item in np.random.default_rng(seed).choice(len(SHARES), count, p=SHARES).tolist()]


def epochs(collection: ItemCollection, *, seed: int, count: int = 8) -> list[Ranking]:
    """Answer the phases of epochs one after another; all rankings pass through their bytes. Returns the results."""
    results: list[Ranking] = []
    method, before, phases = collection.method, None, len(collection.series)
    for epoch in range(count):
        for phase in range(1, phases + 1):
            inquiry = method.first() if phase == 1 or before is None else before.next_inquiry
            assert inquiry is not None
            number = 1_000 * seed + phases * epoch + phase
            rows = respond(method, inquiry, ItemSets.of(sets_of(1_000, number)), entropy=SeededEntropy(number))
            sums = ReportSums(reports=len(rows), values=method.oracle(inquiry).sums(rows))
            task: WindowTask[PhaseSeries, Ranking] = WindowTask(
                series=collection.series[phase - 1],
                window_ms=(phases * epoch + phase - 1) * SIZE_MS,
                final=True,
                windows=((1.0, (sums,)),),
                before=before,
            )
            before = read_back(solve(collection, task))
        assert before is not None
        results.append(before)
    return results


def collection(prior: str = "temporal") -> ItemCollection:
    document = collection_of("gfim-users", options="set_size: 1", epsilon=1, size=len(SHARES)).document
    return ItemCollection.model_validate(document | {"prior": prior})


def learnt_of(ranking: Ranking) -> FilteredCandidates:
    assert ranking.learnt is not None
    return ranking.learnt


def test_results_of_a_population_that_stays_get_better_and_intervals_cover() -> None:
    """12 series; after three epochs, the squared error is about a third of that of the epoch alone."""
    alone, together, covered = [], [], []
    for seed in range(12):
        for ranking in epochs(collection(), seed=seed)[3:]:
            numbers = np.array([each.number for each in ranking.candidates])
            truth = SHARES[numbers]
            found = np.array([each.frequency for each in ranking.candidates])
            error = np.array([each.standard_error for each in ranking.candidates])
            alone.append(np.mean((np.array(learnt_of(ranking).alone) - truth) ** 2))
            together.append(np.mean((found - truth) ** 2))
            covered += (np.abs(found - truth) <= 1.96 * error).tolist()
    assert np.mean(together) < 0.6 * np.mean(alone)
    assert np.mean(covered) > 0.9


def test_a_result_is_in_the_order_of_its_frequencies_and_the_rankings_between_pass_the_past_on() -> None:
    first, *later = epochs(collection(), seed=1, count=3)
    assert (learnt_of(first).weight, learnt_of(first).drift) == (0.0, None)
    assert learnt_of(first).alone == tuple(each.frequency for each in first.candidates)
    for ranking in later:
        assert learnt_of(ranking).weight > 0.0
        assert all(a.frequency >= b.frequency for a, b in pairwise(ranking.candidates))
        assert ranking.earlier is not None
        assert ranking.earlier.epoch == ranking.epoch
        assert [each.item for each in ranking.items] == [str(number) for number in ranking.earlier.items[:2]]


def test_without_a_temporal_prior_nothing_is_learnt_or_left() -> None:
    plain = epochs(collection("window"), seed=1, count=2)[1]
    assert (plain.learnt, plain.earlier) == (None, None)
    temporal = epochs(collection(), seed=1, count=2)[1]
    alone = dict(zip((each.number for each in temporal.candidates), learnt_of(temporal).alone, strict=True))
    assert alone == {each.number: each.frequency for each in plain.candidates}


@pytest.mark.parametrize(("elapsed", "most"), [(1, 1.0), (50, 0.9)])
def test_epochs_without_a_result_take_weight_from_the_past(elapsed: int, most: float) -> None:
    def estimate(frequency: list[float]) -> RankingEstimate:
        return RankingEstimate(items=np.arange(3), frequency=np.array(frequency), standard_error=np.full(3, 0.02))

    left: EarlierEpochs | None = None
    for epoch, shift in enumerate((0.0, 0.06, -0.06, 0.06, -0.06)):
        left = filter_epoch(estimate([0.3 + shift, 0.2 - shift, 0.1]), left, epoch=epoch, reports=1_000).left
    last = [
        filter_epoch(estimate([0.35, 0.15, 0.1]), left, epoch=4 + each, reports=1_000).learnt.weight
        for each in (1, elapsed)
    ]
    assert last[1] <= most * last[0]


def test_an_item_that_was_no_candidate_has_its_own_estimate() -> None:
    def estimate(items: list[int]) -> RankingEstimate:
        return RankingEstimate(items=np.array(items), frequency=np.array([0.3, 0.2]), standard_error=np.full(2, 0.02))

    left = filter_epoch(estimate([4, 7]), None, epoch=0, reports=1_000).left
    found = filter_epoch(estimate([4, 9]), left, epoch=1, reports=1_000).estimate
    assert dict(zip(found.items.tolist(), found.standard_error.tolist(), strict=True))[9] == 0.02
    assert dict(zip(found.items.tolist(), found.standard_error.tolist(), strict=True))[4] < 0.02


def test_more_epochs_take_nothing_from_the_doubt_about_larger_sets() -> None:
    """Every epoch counts the same four fifths of each frequency, with noise of a hundredth, and says so.

    A result passes through its bytes. One in which the doubt were noise would be sure of what is too low.
    """
    truth, rng = np.array([0.5, 0.4, 0.3]), np.random.default_rng(6)
    left: EarlierEpochs | None = None
    for epoch in range(12):
        noise = RankingEstimate(
            items=np.arange(3), frequency=0.8 * truth + rng.normal(0.0, 0.01, 3), standard_error=np.full(3, 0.01)
        )
        estimate, _, left = filter_epoch(doubted(noise, 0.2), left, epoch=epoch, reports=1_000)
        left = EarlierEpochs.model_validate_json(left.model_dump_json())
    assert left is not None
    off = np.abs(estimate.frequency - truth[estimate.items])
    assert (off <= 1.96 * estimate.standard_error).all()
    assert (np.array(left.variance) < 0.008**2).all()


def test_a_result_has_the_doubt_of_the_epochs_that_it_is_made_of() -> None:
    """Four fifths of each frequency are counted: ten epochs say so, and the last one says nothing of it."""
    truth = np.array([0.5, 0.4, 0.3])
    noise = RankingEstimate(items=np.arange(3), frequency=0.8 * truth, standard_error=np.full(3, 0.01))
    left: EarlierEpochs | None = None
    for epoch in range(10):
        left = filter_epoch(doubted(noise, 0.2), left, epoch=epoch, reports=1_000).left
    estimate, learnt, left = filter_epoch(noise, left, epoch=10, reports=1_000)
    share = learnt.weight / (learnt.weight + 1_000)
    doubt = 0.2 * 0.8 * truth * share
    assert left.doubt == pytest.approx(doubt)
    assert (estimate.standard_error > doubt).all()
