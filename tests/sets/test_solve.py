"""A question about a phase becomes a ranking: its k best, their counts, and a refusal where nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.shuffling import DELTA, shuffled_epsilon
from stream_ldp.pipeline.judgement import Measure
from stream_ldp.pipeline.statistics import ReportSums, RowCounts, Statistic
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.sets.answer import EarlierEpochs, FilteredCandidates, Ranking
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.evaluation import totals
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.larger_sets import doubted
from stream_ldp.sets.phases import RankingEstimate
from stream_ldp.sets.sampling import respond
from stream_ldp.sets.series import PhaseSeries
from stream_ldp.sets.solve import filter_epoch, solve
from tests.read_back import read_back
from tests.sets.examples import SIZE_MS, collection_of

#: Little noise, and everybody is asked by the first phase.
COLLECTION = collection_of("ldpminer", options="k_max: 4, set_size: 2", epsilon=22)


def task(*parts: Statistic, phase: int = 1, window_ms: int = 0) -> WindowTask[Any, Any]:
    return WindowTask(
        series=COLLECTION.series[phase - 1], window_ms=window_ms, final=True, windows=((1.0, parts),), before=None
    )


def sums_of(sets: list[list[int]], *, seed: int) -> ReportSums:
    inquiry = COLLECTION.method.first()
    rows = respond(COLLECTION.method, inquiry, ItemSets.of(sets), entropy=SeededEntropy(seed))
    return ReportSums.of(reports=len(rows), values=COLLECTION.method.oracle(inquiry).sums(rows))


def test_the_parts_of_a_window_are_added_up_and_the_k_best_items_published_in_their_order() -> None:
    """Seeded; nearly noiseless, so that only the slot of each report is drawn."""
    ranking = solve(COLLECTION, task(sums_of([[3, 5]] * 1_000, seed=1), sums_of([[3]] * 1_000, seed=2)))
    assert (ranking.epoch, ranking.phase, ranking.reports, ranking.reports_per_phase) == (0, 1, 2_000, (2_000,))
    assert [(each.rank, each.item) for each in ranking.items] == [(1, "3"), (2, "5")]
    assert all(0 <= each.frequency <= 1 for each in ranking.items)
    assert ranking.next_inquiry is not None


@pytest.mark.parametrize(("phase", "window_ms"), [(1, SIZE_MS), (2, SIZE_MS)])
def test_a_window_that_does_not_ask_the_phase_is_refused(phase: int, window_ms: int) -> None:
    """The one is another phase's window; in the other, no ranking was published that would ask the second phase."""
    with pytest.raises(ValueError, match=f"reports to phase-{phase} in the window of {window_ms} ms, which does not"):
        solve(COLLECTION, task(phase=phase, window_ms=window_ms))


def test_the_first_answer_says_how_large_sets_are_and_what_the_next_phase_pads_them_to() -> None:
    """Seeded; nearly noiseless."""
    collection = collection_of("gfim-users", options="set_size: ask", epsilon=10)
    method, inquiry = collection.method, collection.method.first()
    sets = [[1], [1, 2], [1, 2, 3, 4]] * 200
    rows = respond(method, inquiry, ItemSets.of(sets), entropy=SeededEntropy(1))
    sums = ReportSums.of(reports=len(rows), values=method.oracle(inquiry).sums(rows))
    asked: WindowTask[Any, Any] = WindowTask(
        series=collection.series[0], window_ms=0, final=True, windows=((1.0, (sums,)),), before=None
    )
    ranking = type(solve(collection, asked)).from_bytes(solve(collection, asked).to_bytes())
    assert (ranking.about, ranking.target, ranking.complete, ranking.items) == ("sizes", "sizes", False, ())
    assert [each.of for each in ranking.sizes] == ["0 or 1", "2", "3 to 4", "5 to 8", "9 to 16"]
    assert [each.frequency for each in ranking.sizes] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0], abs=0.01)
    # What is true is named as the cells are.
    true = totals(collection, ItemSets.of(sets))
    for cell in ranking.cells():
        assert true["sizes", cell.key] / len(sets) == pytest.approx(cell.estimate, abs=0.01)
    following = ranking.next_inquiry
    assert following is not None
    assert (following.phase, following.candidates, following.padding) == (2, None, 2)
    assert following.sizes is not None
    assert following.sizes.share == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0], abs=0.01)
    assert "sizes of sets" in ranking.look.title
    assert "padded to 2: in a file, set_size: 2 would spare this phase" in " ".join(ranking.judgement().evidence)

    nobody = solve(collection, replace(asked, windows=((1.0, ()),)))
    assert (nobody.sizes, list(nobody.cells())) == ((), [])


def test_counts_of_rows_are_refused_and_not_left_out() -> None:
    with pytest.raises(TypeError, match="answered from ReportSums"):
        solve(COLLECTION, task(RowCounts.empty(8)))


def test_a_final_states_what_readers_of_the_epochs_finals_could_learn() -> None:
    collection = collection_of("ldpminer", options="k_max: 4, set_size: 2", epsilon=2)
    method, reports = collection.method, (5_000, 3_000)
    before, losses = None, 0.0
    for phase, count in zip(method.phases, reports, strict=True):
        inquiry = method.first() if before is None else before.next_inquiry
        assert inquiry is not None
        sums = ReportSums.of(reports=count, values=method.oracle(inquiry).neutral_sums(count))
        asked: WindowTask[Any, Any] = WindowTask(
            series=collection.series[phase.number - 1],
            window_ms=(phase.number - 1) * SIZE_MS,
            final=True,
            windows=((1.0, (sums,)),),
            before=before,
        )
        before = solve(collection, asked)
        # Both phases ask all users, and share the chance that it is more.
        losses += shuffled_epsilon(1.0, reports=count, delta=DELTA / 2)
        assert before.privacy.published is not None
        assert before.privacy.published.epsilon == pytest.approx(losses, rel=1e-12)
        assert before.privacy.published.delta == DELTA
        assert solve(collection, replace(asked, final=False)).privacy.published is None
    assert losses < before.privacy.per_epoch if before else False


def epoch_of(collection: ItemCollection, held: ItemSets) -> Iterator[Ranking]:
    """Answer phase after phase; all users report to each."""
    before, method = None, collection.method
    inquiry: Any = method.first()
    for series in collection.series:
        rows = respond(method, inquiry, held, entropy=SeededEntropy(series.number))
        sums = ReportSums.of(reports=len(rows), values=method.oracle(inquiry).sums(rows))
        window_ms = (series.number - 1) * SIZE_MS
        before = solve(
            collection,
            WindowTask(series=series, window_ms=window_ms, final=True, windows=((1.0, (sums,)),), before=before),
        )
        yield before
        inquiry = before.next_inquiry


def test_an_epoch_with_itemsets_has_a_result_of_items_and_one_of_itemsets() -> None:
    """Seeded; nearly noiseless. Half of the users hold 1 and 4 together, the others 1 or 7 alone."""
    collection = collection_of(options="set_size: 2}\nitemsets: {k: 1, sizes: [2]", epsilon=22)
    held = ItemSets.of([[1, 4], [1], [1, 4], [7]] * 2_000)
    answers = list(epoch_of(collection, held))
    assert [each.complete for each in answers] == [False, False, True, False, True]
    assert [each.target for each in answers] == ["items"] * 3 + ["itemsets"] * 2
    assert [len(list(each.cells())) for each in answers] == [2, 2, 2, 0, 1]
    last = answers[-1]
    assert last.next_phase is None
    (cell,) = last.cells()
    assert (cell.names, cell.labels["itemset"]) == (("1 + 4",), "1 + 4")
    assert cell.estimate == pytest.approx(0.5, abs=0.05)
    assert cell.others["by_chance"] == pytest.approx(0.75 * 0.5, abs=0.05)
    assert last.itemsets[0].items == ("1", "4")
    assert type(last).from_bytes(last.to_bytes()) == last
    follows = collection.series[0].follows(10 * SIZE_MS)
    assert follows == ("phase-3", None), "the next epoch learns from the last ranking of items"
    assert totals(collection, held)["itemsets", ("", ("1 + 4",))] == 4_000
    truth = {
        key: total / len(held) for (target, key), total in totals(collection, held).items() if target == "itemsets"
    }
    assert last.score(truth)["found"] == Measure(value=1, of=1)


def test_a_window_of_itemsets_without_reports_has_none() -> None:
    collection = collection_of(options="set_size: 2}\nitemsets: {k: 1, sizes: [2]", epsilon=22)
    *_, before, _ = epoch_of(collection, ItemSets.of([[1, 4]] * 100))
    silent: WindowTask[Any, Any] = WindowTask(
        series=collection.series[4],
        window_ms=4 * SIZE_MS,
        final=True,
        windows=((1.0, ()),),
        before=before,
        silent_until_ms=5 * SIZE_MS,
    )
    found = solve(collection, silent)
    assert (found.reports, found.itemsets, found.next_phase) == (0, (), None)


@pytest.mark.parametrize(("kind", "before"), [("svim", 2), ("gfim", 1), ("gfim-users", 1), ("ldpminer", 1)])
def test_frequencies_of_one_item_drawn_from_each_set_are_named_so_and_have_no_intervals(
    kind: str, before: int
) -> None:
    """Seeded. All hold the same three items, each of which is a third of the draws: 0.33 +- 0.01 would exclude 1."""
    held = ItemSets.of([[1, 2, 3]] * 6_000)
    rankings = list(epoch_of(collection_of(kind, options="k_max: 4", epsilon=8), held))
    for ranking in (type(each).from_bytes(each.to_bytes()) for each in rankings):
        assert ranking.drawn is (ranking.phase <= before)
        cells = list(ranking.cells())
        evidence = " ".join(ranking.judgement().evidence)
        assert ("drawn one from each set" in evidence) is ranking.drawn
        if ranking.drawn:
            assert ranking.look.number == "frequency in draws"
            assert [cell.interval() for cell in cells] == [None, None]
            assert ranking.estimate.drawn
        else:
            assert ranking.look.number == "frequency"
            assert all(low <= 1.0 <= high + 0.1 for low, high in filter(None, (cell.interval() for cell in cells)))
            assert None not in [cell.interval() for cell in cells]
    sized = list(epoch_of(collection_of(kind, options="k_max: 4, set_size: 3", epsilon=8), held))
    assert not any(each.drawn for each in sized)


def test_a_result_of_which_the_last_phase_has_no_reports_is_still_of_drawn_items() -> None:
    collection = collection_of("ldpminer", options="k_max: 4", epsilon=8)
    first = next(epoch_of(collection, ItemSets.of([[1, 2]] * 500)))
    asked = task(phase=2, window_ms=SIZE_MS)
    series = collection.series[1]
    assert solve(collection, replace(asked, series=series, before=first, windows=((1.0, ()),))).drawn


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
            sums = ReportSums.of(reports=len(rows), values=method.oracle(inquiry).sums(rows))
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


def test_a_result_says_which_part_of_its_errors_is_a_doubt() -> None:
    """Seeded. Sets of one of six items fit their slot, which 1,000 users of each phase show in part."""
    *before, last = epoch_of(collection("window"), ItemSets.of(sets_of(1_000, 3)))
    assert [each.unseen for each in before] == [None, None]
    assert last.unseen is not None
    assert 0.0 < last.unseen < 1.0


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
    assert estimate.unseen == pytest.approx(doubt)
    assert (estimate.standard_error > doubt).all()
