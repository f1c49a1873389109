"""The steps of a merge: what is withheld, what follows a final, and what a missing one ends."""

from types import SimpleNamespace
from typing import Any

import pytest

from stream_ldp.collection import Collection, Series
from stream_ldp.kinds import parse_collection
from stream_ldp.merge_step import MergeStep, next_round
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.collection import JointCollection
from stream_ldp.sets.answer import NextPhase
from tests.client.items import films
from tests.client.rankings import films as films_of_rankings
from tests.client.rankings import ranking_of
from tests.pipeline.test_merging import partial, watermark
from tests.schemas.recorded import COLLECTIONS
from tests.service.mergers import MAKING, SHY, SMALL, quick_answer


def merge_of(collection: JointCollection, *, reports: int) -> Merge:
    """Merge one window, which is closed."""
    merge = Merge(collection, partitions=1)
    for spec in collection.estimates:
        merge.apply(partial(reports, collection=collection, spec=spec))
    merge.apply(watermark(collection.window.size_ms + collection.window.grace_ms, collection=collection))
    return merge


def due(merge: Merge) -> MergeStep:
    step = MergeStep.due(merge)
    assert step is not None
    return step


@pytest.mark.parametrize(("reports", "withheld"), [(2, True), (3, False)])
def test_a_window_of_too_few_users_is_withheld_and_skipped(reports: int, withheld: bool) -> None:
    merge = merge_of(SHY, reports=reports)
    step = due(merge)
    assert step.is_withheld() is withheld
    step.skip(merge)
    assert MergeStep.due(merge) is None
    assert merge.decided == []


@pytest.mark.parametrize("kind", sorted(COLLECTIONS))
@pytest.mark.parametrize(("reports", "withheld"), [(19, True), (20, False)])
def test_a_window_of_too_few_users_is_withheld_whatever_its_kind(kind: str, reports: int, withheld: bool) -> None:
    collection = parse_collection(f"{COLLECTIONS[kind]}min_reports: 20\n")
    task: WindowTask[Any, Any] = WindowTask(
        series=collection.series[0],
        window_ms=0,
        final=True,
        windows=((1.0, (SimpleNamespace(reports=reports),)),),  # type: ignore[arg-type]
        before=None,
    )
    assert MergeStep(collection=collection, task=task).is_withheld() is withheld


def test_the_records_of_a_window_come_with_its_first_final_alone() -> None:
    merge = merge_of(MAKING, reports=5)
    first = due(merge)
    records = first.decide(merge, quick_answer(MAKING, first.task))
    assert records is not None
    assert records.final.series == first.task.series.name
    second = due(merge)
    assert second.task.window_ms == first.task.window_ms
    assert second.decide(merge, quick_answer(MAKING, second.task)) is None


def test_a_collection_without_synthesis_has_no_records() -> None:
    merge = merge_of(SMALL, reports=5)
    step = due(merge)
    assert step.decide(merge, quick_answer(SMALL, step.task)) is None


def test_a_round_follows_from_a_ranking_that_is_not_the_last_of_its_epoch() -> None:
    collection = films_of_rankings()
    following = NextPhase(padding=2, correction=1.0, doubt=0.0, share=1.0, candidates=(0, 1))
    asked = next_round(collection, ranking_of(epoch=7, phase=1, next_phase=following))
    assert asked is not None
    assert asked.message.key == b"7|2"
    assert asked.layout.fingerprint == asked.message.fingerprint
    assert next_round(collection, ranking_of(epoch=7, phase=2)) is None


@pytest.mark.parametrize(("windows", "ended"), [(1, 1), (4, 2), (7, 3)])
def test_epochs_without_a_result_are_counted_by_what_their_silence_spans(windows: int, ended: int) -> None:
    collection = films()  # three phases, of a minute each
    first, later, size_ms = collection.series[0], collection.series[1], collection.window.size_ms
    assert step_of(collection, first, silent_until_ms=windows * size_ms).epochs == ended
    assert step_of(collection, later, silent_until_ms=None).epochs == 1
    assert step_of(SMALL, SMALL.estimates[0], silent_until_ms=None).epochs == 0


def step_of(collection: Collection, series: Series, *, silent_until_ms: int | None) -> MergeStep:
    """Make the step of a window in which nobody reported."""
    task: WindowTask[Any, Any] = WindowTask(
        series=series,
        window_ms=0,
        final=True,
        windows=((1.0, ()),),
        before=None,
        silent_until_ms=silent_until_ms,
    )
    return MergeStep(collection=collection, task=task)
