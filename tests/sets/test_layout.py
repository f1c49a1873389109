"""Tests of counting and merging reports to rounds, true and forged."""

import numpy as np
import pytest

from stream_ldp.kinds import solve
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import Partial, Watermark
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.source_partition import MAX_LAYOUTS, SourcePartition
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.rounds import Round
from tests.sets.examples import SIZE_MS, answers, batch, collection_of, decided, flush, learned, round_of

GFIM = collection_of()
PIPELINED = collection_of(epochs="pipelined")


def closed(merge: Merge, time_ms: int) -> Merge:
    """Let every partition pass this time."""
    collection = merge.collection
    merge.apply(
        Watermark(
            collection=collection.name,
            fingerprint=collection.fingerprint.hex(),
            partition=0,
            generation=1,
            time_ms=time_ms,
        )
    )
    return merge


def merge_of(*partials: Partial) -> Merge:
    merge = Merge(GFIM, partitions=1)
    for each in partials:
        merge.apply(each)
    return merge


def first_phase(sets: list[list[int]]) -> list[Partial]:
    asked = Round.first(GFIM, epoch=0)
    state = learned(GFIM)
    state.count([0], [0], [batch(asked, answers(GFIM, asked, sets), batch_id=0)])
    return flush(state)


def second_round(sets: list[list[int]]) -> Round:
    merge = merge_of(*first_phase(sets))
    return following(decided(merge, 0, "phase-1"))


def following(final: Ranking) -> Round:
    inquiry = final.next_inquiry
    assert inquiry is not None
    return Round.of(GFIM, inquiry, epoch=final.epoch)


SETS = [[1, 2], [1], [], [2, 5, 7], [1, 2, 3]] * 20


@pytest.mark.parametrize("forged_first", [True, False])
@pytest.mark.parametrize("forged_candidates", [[9, 10, 11], list(range(16))])
def test_reports_for_a_forged_round_are_not_merged_with_those_for_the_true_one(
    forged_first: bool, forged_candidates: list[int]
) -> None:
    """Anybody who can write a round can make clients report to it, in the same phase and window."""
    asked = second_round(SETS)
    forged = round_of(GFIM, candidates=forged_candidates)
    forged.check(GFIM)
    state = learned(GFIM, *([forged, asked] if forged_first else [asked, forged]))
    records = [
        batch(forged, answers(GFIM, forged, SETS), batch_id=1),
        batch(asked, answers(GFIM, asked, SETS[:60]), batch_id=2),
    ]
    assert state.count([0, 1], [SIZE_MS, SIZE_MS], records).reports == len(SETS) + 60
    merge = closed(merge_of(*first_phase(SETS), *flush(state)), 3 * SIZE_MS)
    assert due(merge) == (0, "phase-1")
    decided(merge, 0, "phase-1")
    assert due(merge) == (SIZE_MS, "phase-2")
    final = decided(merge, SIZE_MS, "phase-2")
    assert final.reports_per_phase == (len(SETS), 60)
    alone = merge_of(*first_phase(SETS))
    state = learned(GFIM, asked)
    state.count([0], [SIZE_MS], records[1:])
    for each in flush(state):
        alone.apply(each)
    decided(alone, 0, "phase-1")
    assert decided(alone, SIZE_MS, "phase-2") == final


def due(merge: Merge) -> tuple[int, str] | None:
    """Return the window with reports, by its start, and the name of the series that have to be made final next."""
    task = merge.due()
    return None if task is None or task.silent_until_ms else (task.window_ms, task.series.name)


def test_reports_for_a_round_that_no_final_asked_are_neither_awaited_nor_solved() -> None:
    """The epoch's first phase has no answer, so its second has no round but a forged one."""
    forged = round_of(GFIM, candidates=[1, 2])
    state = learned(GFIM, forged)
    state.count([0], [SIZE_MS], [batch(forged, answers(GFIM, forged, SETS), batch_id=1)])
    merge = merge_of(*flush(state))
    assert not any(merge.has_changed(series) for series in GFIM.series)
    assert closed(merge, 10 * SIZE_MS).due() is None
    merge.forget()
    assert merge.panes == 0


def test_epochs_that_are_due_at_once_keep_their_later_phases() -> None:
    """A merge that was down for long finds several epochs, all closed."""
    partials: list[Partial] = []
    rounds = []
    for epoch in range(4):
        first = Round.first(GFIM, epoch=epoch)
        state = learned(GFIM)
        state.count([0], [first.start_ms], [batch(first, answers(GFIM, first, SETS, seed=epoch), batch_id=epoch)])
        partials += flush(state)
        asked = following(decided(merge_of(*partials), first.start_ms, "phase-1"))
        state = learned(GFIM, asked)
        state.count([0], [asked.start_ms], [batch(asked, answers(GFIM, asked, SETS), batch_id=100 + epoch)])
        partials += flush(state)
        rounds.append(asked)
    merge = closed(merge_of(*partials), 100 * SIZE_MS)
    finals: list[Ranking] = []
    while len(finals) < 8:
        task = merge.due()
        assert task is not None
        if task.silent_until_ms is None:
            finals.append(decided(merge, task.window_ms, task.series.name))
        else:
            assert task.series.name == "phase-3"
            merge.decide(solve(merge.collection, task))
    assert [(each.epoch, each.phase) for each in finals] == [(epoch, phase) for epoch in range(4) for phase in (1, 2)]
    assert [each.next_fingerprint for each in finals[::2]] == [each.fingerprint for each in rounds]


def test_a_report_outside_the_window_of_its_round_is_rejected() -> None:
    asked = round_of(GFIM, candidates=[1, 2])
    rows = answers(GFIM, asked, [[1]])
    state = learned(GFIM, asked)
    first = Round.first(GFIM, epoch=0)
    records = [
        batch(asked, rows, batch_id=1, time_ms=SIZE_MS - 1),
        batch(asked, rows, batch_id=2, time_ms=2 * SIZE_MS),
        batch(first, answers(GFIM, first, [[1]]), batch_id=3, time_ms=SIZE_MS),
        batch(first, answers(GFIM, first, [[1]]), batch_id=4, time_ms=2 * SIZE_MS + 1),
    ]
    counted = state.count(range(4), [2 * SIZE_MS] * 4, records)
    assert counted.reports == 0
    assert [(index, why.reason) for index, why in counted.rejected] == [
        (index, Reason.CLOSED_PHASE) for index in range(4)
    ]
    assert flush(state) == []


def test_pipelined_epochs_accept_first_phase_reports_in_every_window() -> None:
    first = Round.first(PIPELINED, epoch=0)
    rows = answers(PIPELINED, first, [[1]])
    records = [batch(first, rows, batch_id=window, time_ms=window * SIZE_MS) for window in range(4)]
    state = learned(PIPELINED)
    assert state.count(range(4), [window * SIZE_MS for window in range(4)], records).reports == 4
    assert {each.pane_ms for each in flush(state)} == {0, SIZE_MS, 2 * SIZE_MS, 3 * SIZE_MS}


def test_a_value_that_a_direct_response_cannot_have_is_rejected() -> None:
    """Phase 2 of svim asks for a number from 0 to 4, in three bits."""
    collection = collection_of("svim", options="k_max: 4")
    asked = round_of(collection, candidates=[1, 3, 4, 5])
    state = learned(collection, asked)
    good, bad = np.array([[4]], dtype=np.uint8), np.array([[5]], dtype=np.uint8)
    counted = state.count([0, 1], [SIZE_MS] * 2, [batch(asked, good, batch_id=0), batch(asked, bad, batch_id=1)])
    assert counted.reports == 1
    ((index, why),) = counted.rejected
    assert (index, why.reason) == (1, Reason.UNKNOWN_VALUE)


def test_within_a_turn_reports_for_old_rounds_do_not_push_out_the_current_one() -> None:
    """The records of a turn depend on the reader's timing, so counts would depend on it too."""
    asked = round_of(GFIM, candidates=[1, 2])
    old = [round_of(GFIM, epoch=-1 - back, candidates=[1, 2]) for back in range(MAX_LAYOUTS + 5)]
    state = learned(GFIM, asked, *old)
    rows = answers(GFIM, asked, [[1]])
    records = [batch(each, rows, batch_id=place) for place, each in enumerate([asked, *old])]
    counted = state.count(range(len(records)), [SIZE_MS] * len(records), records)
    assert {why.reason for _, why in counted.rejected} == {Reason.LATE}
    assert 0 not in [index for index, _ in counted.rejected]
    assert not state.reads(asked.fingerprint)
    assert state.reads(GFIM.fingerprint)
    assert sum(state.reads(each.fingerprint) for each in old) == MAX_LAYOUTS


def test_after_a_restart_every_report_is_counted_exactly_once() -> None:
    """The round is looked up again, and the partial is the same as before."""
    asked = round_of(GFIM, candidates=[1, 2])
    records = [batch(asked, answers(GFIM, asked, SETS, seed=seed), batch_id=seed) for seed in range(3)]
    state = learned(GFIM, asked)
    state.count([0, 1], [SIZE_MS] * 2, records[:2])
    before = state.take_changes()
    assert before is not None
    again = SourcePartition(GFIM, PhaseLayout(GFIM), partition=0, checkpoint=before.checkpoint)
    again.learn(PhaseLayout(GFIM, asked))
    again.take_changes()
    again.count([0, 1, 2], [SIZE_MS] * 3, records)
    (partial,) = flush(again)
    assert isinstance(partial.counts, ReportSums)
    oracle = GFIM.method.oracle(asked.inquiry)
    rows = np.concatenate([answers(GFIM, asked, SETS, seed=seed) for seed in range(3)])
    assert partial.counts == ReportSums.of(reports=3 * len(SETS), values=oracle.sums(rows))


@pytest.mark.parametrize("options", ["set_size: 3, hash_bits: 1", "set_size: 3, hash_bits: 2", "set_size: 3"])
def test_reports_from_a_single_row_are_flagged_and_honest_ones_are_not(options: str) -> None:
    """This holds for sampled items and for whole sets, the default where it is better."""
    collection = collection_of(options=options, size=1_000)
    asked = Round.first(collection, epoch=0)
    honest = answers(collection, asked, SETS * 10)
    crafted = np.repeat(honest[:1], 1_000, axis=0)
    state = learned(collection)
    records = [batch(asked, rows, batch_id=place) for place, rows in enumerate((honest, crafted))]
    assert state.count([0, 1], [0, 0], records).implausible == 1
    merge = closed(Merge(collection, partitions=1), 3 * SIZE_MS)
    for each in flush(state):
        merge.apply(each)
    suspicious = decided(merge, 0, "phase-1").plausibility
    assert suspicious is not None
    assert suspicious.flagged
    alone = learned(collection)
    assert alone.count([0], [0], records[:1]).implausible == 0
    merge = closed(Merge(collection, partitions=1), 3 * SIZE_MS)
    for each in flush(alone):
        merge.apply(each)
    usual = decided(merge, 0, "phase-1").plausibility
    assert usual is not None
    assert not usual.flagged
