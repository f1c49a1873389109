"""Tests of epochs of item sets against the batch answer, with any reports, crashes, forged rounds and rebuilds.

The pipeline is that of tests/machines/test_pipeline.py, and held to the same promises.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from stream_ldp.kinds import solve
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.phases import Inquiry
from stream_ldp.sets.rounds import Round
from stream_ldp.sets.sampling import respond
from tests.machines.oracle import Entry
from tests.machines.simulation import Cluster, LooksAtEverything, WrongError, require
from tests.machines.test_pipeline import ALL, EVENTS, FROM_THE_CLOCK, MANY, PARTITION, PARTITIONS, Pipeline, run
from tests.profiles import examples
from tests.sets.examples import inquiry_of

TEXT = """
collection: machine
mechanism: {kind: KIND, epsilon: 3, k: 1}
items: {size: 4}
epochs: EPOCHS
window: {size: 20ms, grace: 3ms, idle_timeout: 8ms, ahead: 6ms, max_age: 90ms}
"""

COLLECTIONS = {
    (kind, epochs): ItemCollection.parse(
        TEXT.replace("KIND", "ldpminer, set_size: 2" if kind == "ldpminer" else kind).replace("EPOCHS", epochs)
    )
    for kind, epochs in (("ldpminer", "sequential"), ("ldpminer", "pipelined"), ("svim", "pipelined"))
}


@dataclass(frozen=True)
class _FirstWindows:
    """The windows in which sequential epochs ask their first phase."""

    collection: ItemCollection

    def __contains__(self, start: object) -> bool:
        assert isinstance(start, int)
        return start // self.collection.schedule.size_ms % self.collection.schedule.phases == 0


@dataclass(kw_only=True)
class ItemCluster(Cluster):
    """A cluster with a rounds topic, to which others can write too."""

    rounds: list[Round] = field(default_factory=list)
    by_fingerprint: dict[bytes, Round] = field(default_factory=dict)
    #: Finals after which the merge dies before it tells what is next.
    deaths: int = 0

    def answer_to(self, partition: int, asked: Round, sets: Sequence[Sequence[int]], *, time_ms: int) -> None:
        """Append a batch of users who report to a round."""
        batch_id = self._appended.to_bytes(16, "little")
        self._appended += 1
        rows = respond(
            self.collection.method, asked.inquiry, ItemSets.of(sets), entropy=SeededEntropy(self._appended)
        )
        first = None if self.collection.epochs == "pipelined" else _FirstWindows(self.collection)
        self.logs[partition].append(
            Entry(
                appended_ms=self.now_ms,
                value=wire.encode(
                    wire.Batch(fingerprint=asked.fingerprint, batch_id=batch_id, time_ms=time_ms, rows=rows)
                ),
                batch_id=batch_id,
                time_ms=time_ms,
                reports=tuple(tuple(row) for row in rows.tolist()),
                question=asked.fingerprint,
                windows=first if asked.phase == 1 else {asked.start_ms},
            )
        )

    def append_last(self, partition: int) -> None:
        self.answer_to(partition, Round.first(self.collection, epoch=0), [[0]], time_ms=self.now_ms)

    def layouts(self, fingerprints: set[bytes]) -> list[PhaseLayout]:  # type: ignore[override]
        found = [self.by_fingerprint.get(each) for each in sorted(fingerprints)]
        return [PhaseLayout(self.collection, each) for each in found if each is not None]

    def answer(self, task: WindowTask[Any, Any]) -> Any:
        return solve(self.collection, task)

    def tell(self, answer: Ranking) -> None:
        if self.deaths:
            self.deaths -= 1
        elif (inquiry := answer.next_inquiry) is not None:
            self._ask(Round.of(self.collection, inquiry, epoch=answer.epoch))

    def forge(self, epoch: int, inquiry: Inquiry) -> None:
        """Write a forged round."""
        forged = Round.of(self.collection, inquiry, epoch=epoch)
        forged.check(self.collection)
        self._ask(forged)

    def _ask(self, asked: Round) -> None:
        self.rounds.append(asked)
        self.by_fingerprint[asked.fingerprint] = asked

    def expire(self) -> None:
        """Delete nothing, since retention lasts for days."""

    def check(self, task: WindowTask[Any, Any]) -> None:
        # A first phase takes from the result before what it says of the items, but not what is asked.
        before: Any = None if task.series.number == 1 else task.before
        fingerprint = self.collection.fingerprint if before is None else before.next_fingerprint
        oracle = self.collection.method.oracle(
            self.collection.method.first() if before is None else before.next_inquiry
        )
        rows = [row for answers in self._answers(task.window_ms) for row in answers.get(fingerprint, ())]
        packed = np.array(rows, dtype=np.uint8).reshape(-1, -(-oracle.bits // 8))
        truth = ReportSums.of(reports=len(rows), values=oracle.sums(packed))
        ((_, parts),) = task.counts(ReportSums)
        counted = ReportSums.sum(parts, counters=oracle.counters)
        require(counted == truth, f"final of window {task.window_ms} differs from the batch answer")

    def _answers(self, window_ms: int) -> list[dict[bytes, list[tuple[int, ...]]]]:
        replays = [self.replay(partition) for partition in range(self.partitions)]
        return [each.panes[window_ms].answers for each in replays if window_ms in each.panes]

    def windows_missing(self) -> list[tuple[str, int]]:
        """Answers to a first phase, or to what a final has asked, that have no final though all have passed them."""
        replays = [self.replay(partition) for partition in range(self.partitions)]
        reached = min(each.watermark_ms if each.watermark_ms is not None else -1 for each in replays)
        schedule, grace_ms = self.collection.schedule, self.collection.window.grace_ms
        starts = sorted({start for each in replays for start in each.panes})
        asked: list[tuple[int, int, int, bytes]] = [
            (start, epoch, 1, self.collection.fingerprint)
            for start in starts
            if (epoch := schedule.epoch_at(start, 1)) is not None
        ]
        asked += [
            (final.window.end_ms, final.epoch, final.phase + 1, final.next_fingerprint)
            for final in self.finals
            if final.next_fingerprint is not None
        ]
        published = {(final.epoch, final.phase) for final in self.finals}
        return [
            (f"epoch {epoch}, phase {phase}", start)
            for start, epoch, phase, fingerprint in asked
            if start + schedule.size_ms + grace_ms <= reached
            and any(fingerprint in answers for answers in self._answers(start))
            and (epoch, phase) not in published
        ]


class Epochs(Pipeline):
    """A machine of reports to rounds, true and forged, beside all that can happen to a pipeline."""

    collection: ClassVar[Any]
    cluster: ItemCluster

    def _cluster(self) -> Cluster:
        return ItemCluster(collection=self.collection, partitions=PARTITIONS)

    @rule(
        partition=PARTITION,
        elapsed_ms=st.integers(0, 12),
        which=st.integers(0, 4),
        time=st.one_of(st.none(), st.none(), FROM_THE_CLOCK),
        sets=st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=3),
        records=MANY,
        writes=MANY,
        merged=MANY,
    )
    def batch_arrives(
        self,
        partition: int = 0,
        elapsed_ms: int = 0,
        which: int = 0,
        time: int | None = 0,
        sets: Sequence[Sequence[int]] = ((1,),),
        records: int = ALL,
        writes: int = ALL,
        merged: int = ALL,
    ) -> None:
        """Users answer a first phase, or one of the last rounds, in its window as far as that may still be."""
        self.cluster.now_ms += elapsed_ms
        asked = Round.first(self.collection, epoch=0)
        if which and self.cluster.rounds:
            asked = self.cluster.rounds[-min(which, len(self.cluster.rounds))]
        time_ms = self.cluster.now_ms + (time or 0)
        if time is None and asked.phase > 1:
            time_ms = min(max(time_ms, asked.start_ms), asked.end_ms - 1)
        self.cluster.answer_to(partition, asked, sets, time_ms=time_ms)
        self._work(self.owners[partition], records, 0, writes)
        self.mergers[-1].read(merged)

    @rule(after_ms=st.integers(0, 9), which=st.integers(0, 3), records=MANY, writes=MANY, merged=MANY)
    def window_passes(
        self, after_ms: int = 4, which: int = 1, records: int = ALL, writes: int = ALL, merged: int = ALL
    ) -> None:
        """The next one begins, with answers to what was asked last, or to a first phase, in every partition."""
        size_ms = self.collection.schedule.size_ms
        self.cluster.now_ms += size_ms - self.cluster.now_ms % size_ms + after_ms
        for partition in range(PARTITIONS):
            # The first answers close the previous window, whose final tells what is asked in this one.
            for asked in (0, which):
                self.batch_arrives(partition, which=asked, time=None, records=records, writes=writes, merged=merged)

    @rule()
    def epoch_passes(self) -> None:
        """Let the phases of an epoch pass in order, whatever came before."""
        for _ in range(self.collection.schedule.phases + 1):
            self.window_passes()

    @rule(back=st.integers(-1, 2), candidates=st.permutations(range(4)), kept=st.integers(1, 4))
    def somebody_forges_a_round(self, back: int = 0, candidates: Sequence[int] = (0, 1, 2, 3), kept: int = 2) -> None:
        schedule = self.collection.schedule
        epoch = self.cluster.now_ms // (schedule.size_ms * schedule.stride) - back
        self.cluster.forge(epoch, inquiry_of(2, sorted(candidates[:kept])))

    @rule()
    def merge_dies_before_it_tells(self) -> None:
        self.cluster.deaths += 1

    def _settle(self) -> None:
        self.cluster.deaths = 0
        super()._settle()
        published = self.cluster.by_fingerprint.keys()
        newest = {final.phase: final for final in sorted(self.cluster.finals, key=lambda final: final.window.end_ms)}
        for final in newest.values():
            require(final.next_fingerprint in {None, *published}, "the round of a phase was never published")


def machine(collection: ItemCollection) -> type[Epochs]:
    return type("Machine", (Epochs,), {"collection": collection, "happened": set[str]()})


@pytest.mark.parametrize(
    "which",
    # Where phases overlap, each history takes three times as long: the last test but one lives some of them.
    [pytest.param(each, marks=pytest.mark.long if each[1] == "pipelined" else ()) for each in COLLECTIONS],
    ids=" ".join,
)
def test_any_history_leads_to_the_same_answer_as_the_batch(which: tuple[str, str]) -> None:
    tried = machine(COLLECTIONS[which])
    run(tried, histories=examples(40, quick=7))
    assert tried.happened >= EVENTS - {"bad_checksum", "duplicate"} | {"closed_phase"}


# tests/pipeline/test_undecided.py compares the same two of windows of epochs, without a history of a cluster.
@pytest.mark.long
@pytest.mark.parametrize("which", COLLECTIONS, ids=" ".join)
def test_a_merge_finds_the_windows_that_a_look_at_all_its_panes_finds(which: tuple[str, str]) -> None:
    run(
        type("Machine", (machine(COLLECTIONS[which]),), {"merging": LooksAtEverything}),
        histories=examples(3, quick=1),
    )


@pytest.mark.parametrize(
    ("rule_", "broken"),
    [
        ("stream_ldp.sets.series.round_statistic", lambda series, fingerprint: series.of),
        # Found after more histories than the other.
        pytest.param("stream_ldp.pipeline.newest_finals.KEPT_FINALS", 1, marks=pytest.mark.long),
    ],
    ids=["rounds share a name", "one final is kept"],
)
def test_the_machine_notices_a_broken_rule(rule_: str, broken: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_, broken)
    with pytest.raises((WrongError, ValueError)):
        run(machine(COLLECTIONS["ldpminer", "pipelined"]), histories=12)


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("which", COLLECTIONS, ids=" ".join)
def test_thousands_of_histories_lead_to_the_same_answer_as_the_batch(which: tuple[str, str]) -> None:
    run(machine(COLLECTIONS[which]), histories=2_000)
