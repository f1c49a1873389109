"""A question about a phase becomes a ranking: its k best, their counts, and a refusal where nothing is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.shuffling import DELTA, shuffled_epsilon
from stream_ldp.pipeline.statistics import ReportSums, RowCounts, Statistic
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.sampling import respond
from stream_ldp.sets.solve import solve
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
    return ReportSums(reports=len(rows), values=COLLECTION.method.oracle(inquiry).sums(rows))


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
        sums = ReportSums(reports=count, values=method.oracle(inquiry).neutral_sums(count))
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
