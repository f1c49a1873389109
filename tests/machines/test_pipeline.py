"""Tests of the whole pipeline against the batch answer, with any arrivals, crashes, lost partitions and rebuilds.

The invariants are checked where they could break: partials and commits as they are written, finals as they are
published (tests/machines/simulation.py). At the end all is read and flushed, and no window may be missing.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from stream_ldp.pipeline.layout import Layout
from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import CutOff, MergeRecord, Partial, Watermark
from stream_ldp.pipeline.restoring import RestoredPanes, Restoring
from stream_ldp.pipeline.saved_panes import SavedPlace
from stream_ldp.pipeline.seen_batches import SeenBatches
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.source_partition import Changes, Counted, SourcePartition
from stream_ldp.pipeline.statistics import row_tally
from stream_ldp.records.collection import JointCollection
from tests.machines.oracle import Bits
from tests.machines.simulation import Cluster, Holder, LooksAtEverything, Merger, WrongError, require
from tests.profiles import examples

PARTITIONS = 2
PARTITION = st.sampled_from([0, 0, 0, 1])

NARROW = """
collection: machine
mechanism: {kind: rr-ldp, f: 0.5}
attributes:
  - {name: a, values: [x, y]}
  - {name: b, values: [x, y, z]}
estimates:
  - {name: both, of: [b, a]}
  - {name: one, of: [a]}
"""

#: 18 bits: its rows are held in segments, beside the dense table of `one`.
WIDE = """
collection: machine
mechanism: {kind: rr-ldp, f: 0.5}
attributes:
  - {name: a, values: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}
  - {name: b, values: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}
estimates:
  - {name: both, of: [a, b]}
  - {name: one, of: [b]}
"""

TIMES = "grace: 3ms, idle_timeout: 8ms, ahead: 6ms, max_age: 60ms"

COLLECTIONS = {
    "tumbling": NARROW + f"window: {{size: 10ms, {TIMES}}}",
    "sliding": NARROW + f"window: {{size: 15ms, hop: 5ms, {TIMES}}}",
    "memory": NARROW + f"window: {{size: 10ms, memory: 0.2, {TIMES}}}",
    "wide sliding": WIDE + f"window: {{size: 10ms, hop: 5ms, {TIMES}}}",
}

#: Three reports of 18 bits (3 bytes, and 4 of a counter) fill a segment.
SEGMENT_BYTES = 21

#: Event time of a batch, in milliseconds: so far from the broker's clock, or so near to that of an earlier batch.
FROM_THE_CLOCK = st.one_of(
    st.integers(-4, 0),
    st.integers(-40, -12),  # usually late
    st.integers(1, 6),  # ahead, within what is allowed
    st.sampled_from([7, 10_000, -61, -1_000]),  # beyond what is allowed
)
FROM_EARLIER_BATCH = st.tuples(st.integers(1, 5), st.integers(-3, 3))

#: How many records are read, or writes done, before something else happens: all, some or none.
ALL = 1_000
MANY = st.sampled_from([ALL] * 6 + [0] * 3 + [1, 2, 3, 4, 5, 6])
#: Milliseconds without a record, before a flush.
SILENCE = st.one_of(st.just(0), st.integers(1, 40))

#: Ranks by which a log is read in a rebuild; none for the log's own order.
ORDER = st.one_of(st.just(()), st.lists(st.integers(0, 9), min_size=2, max_size=7).map(tuple))


class Pipeline(RuleBasedStateMachine):
    """A machine of arrivals, reading, flushing, losing partitions and merging, in any order."""

    collection: ClassVar[JointCollection]
    counting: ClassVar[type[SourcePartition]] = SourcePartition
    holding: ClassVar[type[Holder]] = Holder
    restoring: ClassVar[type[Restoring] | None] = Restoring
    merging: ClassVar[type[Merge]] = Merge
    finals_first: ClassVar[bool] = True
    writers_share_keys: ClassVar[bool] = False
    #: What has happened in some history.
    happened: ClassVar[set[str]] = set()

    def __init__(self) -> None:
        super().__init__()
        self.cluster = self._cluster()
        self.owners: dict[int, Holder] = {}
        self.zombies: list[Holder] = []
        self.started = 0
        self.last_order: tuple[int, ...] = ()
        for partition in range(PARTITIONS):
            self._begin(partition)
        self.mergers = [self._merger()]

    def _cluster(self) -> Cluster:
        return Cluster(collection=self.collection, partitions=PARTITIONS)

    def _begin(self, partition: int) -> None:
        self.started += 1
        writer = "" if self.writers_share_keys else f"writer {self.started}"
        self.owners[partition] = self.holding(
            self.cluster,
            partition,
            writer=writer,
            counting=self.counting,
            restoring=self.restoring,
            # 2 for the first owner of the first partition, then 1, 2 and so on.
            save_records=1 + self.started % 2,
            # None for the first owners.
            max_batches=(2, sys.maxsize, sys.maxsize, 3)[self.started % 4],
        )

    def _finish(self, holder: Holder) -> None:
        # What an interrupted flush still has to write, then what was read since, then nothing.
        for _ in range(3):
            holder.poll(ALL)
            holder.flush(ALL)

    def _merger(self, order: tuple[int, ...] = ()) -> Merger:
        return Merger(self.cluster, order=order, merge=self.merging, finals_first=self.finals_first)

    @initialize(now_ms=st.integers(1_000, 1_014), last_order=ORDER)
    def begin(self, now_ms: int, last_order: tuple[int, ...]) -> None:
        self.cluster.now_ms = now_ms
        self.last_order = last_order

    @rule(
        partition=PARTITION,
        elapsed_ms=st.integers(0, 6),
        time=st.one_of(FROM_THE_CLOCK, FROM_EARLIER_BATCH),
        reports=st.lists(st.integers(0, 2**18 - 1), min_size=1, max_size=4),
        spoiled=st.sampled_from([False] * 9 + [True]),
        records=MANY,
        writes=MANY,
        merged=MANY,
    )
    def batch_arrives(
        self,
        partition: int = 0,
        elapsed_ms: int = 0,
        time: int | tuple[int, int] = 0,
        reports: Sequence[int] = (1,),
        spoiled: bool = False,
        records: int = ALL,
        writes: int = ALL,
        merged: int = ALL,
    ) -> None:
        """Take the ordinary course: a batch arrives, an owner reads and flushes, a merge reads and publishes."""
        self.cluster.now_ms += elapsed_ms
        time_ms = self.cluster.now_ms
        if isinstance(time, int):
            time_ms += time
        elif log := self.cluster.logs[partition]:
            back, distance_ms = time
            time_ms = log[-min(back, len(log))].time_ms + distance_ms
        bits = self.collection.mechanism.bits
        rows: list[Bits] = [tuple(report >> bit & 1 for bit in range(bits)) for report in reports]
        self.cluster.append(partition, time_ms=time_ms, reports=rows, spoiled=spoiled)
        self._work(self.owners[partition], records, 0, writes)
        self.mergers[-1].read(merged)

    @rule(partition=PARTITION, which=st.integers(0, 20))
    def copy_arrives(self, partition: int = 0, which: int = 0) -> None:
        self.cluster.append_again(partition, which)

    @rule(partition=PARTITION, records=MANY, silent_ms=SILENCE, writes=MANY)
    def owner_waits(self, partition: int = 0, records: int = ALL, silent_ms: int = 0, writes: int = ALL) -> None:
        self._work(self.owners[partition], records, silent_ms, writes)

    @rule(which=st.integers(0, 3), records=MANY, silent_ms=SILENCE, writes=MANY)
    def zombie_works(self, which: int = 0, records: int = ALL, silent_ms: int = 0, writes: int = ALL) -> None:
        if self.zombies:
            self._work(self.zombies[which % len(self.zombies)], records, silent_ms, writes)

    def _work(self, holder: Holder, records: int, silent_ms: int, writes: int) -> None:
        """Run one turn of a worker, which first finishes a flush that was interrupted."""
        holder.flush(writes)
        holder.poll(records)
        self.cluster.now_ms += silent_ms
        holder.fall_silent(silent_ms)
        holder.flush(writes)

    @rule(partition=PARTITION, crashed=st.booleans(), records=MANY, silent_ms=SILENCE, writes=MANY)
    def partition_is_lost(
        self, partition: int = 0, crashed: bool = False, records: int = ALL, silent_ms: int = 0, writes: int = ALL
    ) -> None:
        """Let the next owner take a first turn; the one before may not know of it yet."""
        before = self.owners[partition]
        before.owner = False
        if not crashed:
            self.zombies.append(before)
        self._begin(partition)
        self._work(self.owners[partition], records, silent_ms, writes)

    @rule(records=MANY)
    def old_merge_reads(self, records: int = ALL) -> None:
        self.mergers[0].read(records)

    @rule(
        log=st.sampled_from(["compacted", "expired", "whole"]),
        order=ORDER,
        old_lives_on=st.booleans(),
        committed=st.sampled_from([True] * 3 + [False]),
    )
    def merge_is_rebuilt(
        self,
        log: str = "whole",
        order: tuple[int, ...] = (),
        old_lives_on: bool = False,
        committed: bool = True,
    ) -> None:
        if not committed:
            self.cluster.merged = None
        if log == "compacted":
            self.cluster.compact()
        if log == "expired":
            # Retention is days: a merge that lags as far behind is gone.
            self.cluster.expire()
            old_lives_on = False
        rebuilt = self._merger(order)
        self.mergers = [*self.mergers[-1:], rebuilt] if old_lives_on else [rebuilt]
        rebuilt.speak()

    def teardown(self) -> None:
        if sys.exception() is None:
            self._settle()

    def _settle(self) -> None:
        """Let everyone move on, and everything be read: every window has to be there, and stay as it is."""
        self.cluster.now_ms += 200
        for partition in range(PARTITIONS):
            self.cluster.append_last(partition)
        for holder in [*self.zombies, *self.owners.values()]:
            self._finish(holder)
        for merger in [self._merger(self.last_order), *self.mergers]:
            merger.read(sys.maxsize)
            merger.speak()
        missing = self.cluster.windows_missing()
        require(not missing, f"no final of {missing}")
        self.cluster.check_letters()
        self._remember()
        self.cluster.expire()
        self._merger(self.last_order).speak()

    def _remember(self) -> None:
        self.happened.update(self.cluster.happened)
        for partition in range(PARTITIONS):
            self.happened.update(self.cluster.replay(partition).verdicts)
        if any(self.cluster.advances):
            self.happened.add("an idle partition was advanced")
        if any(zombie.dropped for zombie in self.zombies):
            self.happened.add("a zombie's commit was refused")


#: What has to happen for a number of histories to be enough.
EVENTS = {
    *("counted", "duplicate", "late", "future_time", "past_time", "bad_checksum"),
    *("an idle partition was advanced", "a zombie's commit was refused"),
}

#: What may happen in some, beside that.
RARE = {"panes were restored", "saved panes were missing", "too_many_batches"}


def run(machine: type[Pipeline], *, histories: int, steps: int = 40) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_tally, "SEGMENT_BYTES", SEGMENT_BYTES)


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_any_history_leads_to_the_same_answer_as_the_batch(collection: str) -> None:
    machine = _machine(collection)
    run(machine, histories=examples(100, quick=15))
    assert machine.happened - RARE == EVENTS


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_merge_finds_the_windows_that_a_look_at_all_its_panes_finds(collection: str) -> None:
    run(_machine(collection, {"merging": LooksAtEverything}), histories=examples(20, quick=3))


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_thousands_of_histories_lead_to_the_same_answer_as_the_batch(collection: str) -> None:
    run(_machine(collection), histories=5_000)


class CommitsTheReadPosition(SourcePartition):
    def take_changes(self, **room: Any) -> Changes | None:
        changes = super().take_changes(**room)
        if changes is None:
            return None
        return replace(changes, checkpoint=replace(changes.checkpoint, offset=changes.checkpoint.position))


class ForgetsTheWatermark(SourcePartition):
    def __init__(
        self,
        collection: JointCollection,
        layout: Layout,
        *,
        partition: int,
        start: int = 0,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        forgotten = None if checkpoint is None else replace(checkpoint, watermark_ms=None)
        super().__init__(collection, layout, partition=partition, start=start, checkpoint=forgotten)


class SpeaksWhileReplaying(SourcePartition):
    @property
    def replaying(self) -> bool:
        return False


class AdvancesBeforeTheCommit(SourcePartition):
    def advance_idle(self, others_ms: int | None) -> None:
        super().advance_idle(others_ms)
        self._watermark = max(self._watermark, self._watermark_if_idle)


class DecidesAgainByItsOwnLimits(SourcePartition):
    def count(self, *columns: Any, **unreadable: Any) -> Counted:
        self._checkpoint = replace(self._checkpoint, limits=(self._limits,))
        return super().count(*columns, **unreadable)


class LimitsWhatMayHaveBeenDecided(SourcePartition):
    @property
    def _log_end(self) -> int:
        return 0

    @_log_end.setter
    def _log_end(self, offset: int) -> None:
        pass


class CountsCopies(SourcePartition):
    def count(self, *columns: Any, **unreadable: Any) -> Counted:
        for pane in self._panes.values():
            pane._seen = SeenBatches()
        return super().count(*columns, **unreadable)


class ForgetsTheBatches(Restoring):
    def panes(self, partition: int) -> RestoredPanes | None:
        found = super().panes(partition)
        none = np.zeros(0, dtype=np.uint64)
        return found and replace(found, panes=tuple(replace(pane, hashes=none) for pane in found.panes))


class CountsAgainWhatPartialsHave(Restoring):
    def panes(self, partition: int) -> RestoredPanes | None:
        found = super().panes(partition)
        return found and replace(
            found,
            panes=tuple(
                replace(pane, statistics={of: replace(each, since=0) for of, each in pane.statistics.items()})
                for pane in found.panes
            ),
        )


class TakesWhatWasNeverCommitted(Restoring):
    def __init__(self, places: Mapping[int, SavedPlace], **collection: str) -> None:
        beyond = {partition: replace(place, position=2**62) for partition, place in places.items()}
        super().__init__(beyond, **collection)


class LetsWindowsCloseBeforeTheCommit(Holder):
    order = ("partials", "watermark", "commit")


class CommitsBeforeThePartials(Holder):
    order = ("commit", "partials", "watermark")


def parts(record: MergeRecord) -> tuple[Partial | Watermark | CutOff, ...]:
    """Return the partials of a record, or what else it is."""
    return record.parts or (record,)  # type: ignore[return-value]  # which is no group


class Adds(Merge):
    def apply(self, record: MergeRecord, *, offset: int = 0) -> None:
        for part in parts(record):
            added = replace(part, segment=1_000 * part.segment + part.end) if isinstance(part, Partial) else part
            super().apply(added, offset=offset)


class TakesTheFurthestOfAnyOwner(Merge):
    def apply(self, record: MergeRecord, *, offset: int = 0) -> None:
        for part in parts(record):
            super().apply(part if isinstance(part, CutOff) else replace(part, generation=1), offset=offset)


class TakesTheLastThatCame(Merge):
    def apply(self, record: MergeRecord, *, offset: int = 0) -> None:
        for part in parts(record):
            super().apply(replace(part, end=next(self.came)) if isinstance(part, Partial) else part, offset=offset)

    came = count(1)


class ForgetsWhatIsOpen(Merge):
    @property
    def checkpoint(self) -> MergeCheckpoint | None:
        checkpoint = super().checkpoint
        return checkpoint and replace(checkpoint, partials=checkpoint.partials + 1)


class ForgetsTheFinalBefore(Merge):
    @property
    def checkpoint(self) -> MergeCheckpoint | None:
        checkpoint = super().checkpoint
        return checkpoint and replace(checkpoint, answers=checkpoint.answers + 2)


def a_window_is_filled_in_two_turns(pipeline: Pipeline) -> None:
    pipeline.batch_arrives()
    pipeline.batch_arrives()


def a_turn_is_cut_off_after_its_first_write(pipeline: Pipeline) -> None:
    pipeline.batch_arrives(records=0)
    pipeline.batch_arrives(elapsed_ms=40, writes=1)
    pipeline.partition_is_lost(crashed=True)


def an_owner_crashes(pipeline: Pipeline) -> None:
    pipeline.batch_arrives()
    pipeline.partition_is_lost(crashed=True)


def an_owner_crashes_and_the_next_has_read_half(pipeline: Pipeline) -> None:
    pipeline.batch_arrives()
    pipeline.batch_arrives()
    pipeline.partition_is_lost(crashed=True, records=1)


def a_batch_comes_when_its_idle_window_is_about_to_close(pipeline: Pipeline) -> None:
    pipeline.batch_arrives()
    pipeline.batch_arrives(writes=1)
    pipeline.owner_waits(silent_ms=30, writes=0)
    pipeline.batch_arrives(time=(1, 0))


def an_owner_with_a_lower_limit_reads_a_window_again(pipeline: Pipeline) -> None:
    pipeline.started = 2
    pipeline.partition_is_lost(crashed=True)
    for _ in range(3):
        pipeline.batch_arrives()
    pipeline.partition_is_lost(crashed=True)
    pipeline.batch_arrives()


def an_owner_dies_before_the_commit_of_what_it_has_refused(pipeline: Pipeline) -> None:
    pipeline.started = 3
    pipeline.partition_is_lost(crashed=True)
    for _ in range(2):
        pipeline.batch_arrives()
    pipeline.batch_arrives(writes=1)
    pipeline.partition_is_lost(crashed=True, records=2)
    pipeline.owner_waits()


def a_copy_arrives(pipeline: Pipeline) -> None:
    pipeline.batch_arrives()
    pipeline.copy_arrives()
    pipeline.owner_waits()


def a_copy_arrives_after_a_restart(pipeline: Pipeline) -> None:
    pipeline.batch_arrives()
    pipeline.batch_arrives()
    pipeline.partition_is_lost(crashed=True)
    pipeline.copy_arrives()
    pipeline.owner_waits()


def an_owner_crashes_after_it_has_sent_more_than_it_saved(pipeline: Pipeline) -> None:
    for _ in range(3):
        pipeline.batch_arrives()
    pipeline.partition_is_lost(crashed=True)


def an_owner_crashes_after_a_partial_that_it_never_committed(pipeline: Pipeline) -> None:
    pipeline.batch_arrives()
    pipeline.batch_arrives()
    pipeline.batch_arrives(writes=1)
    pipeline.partition_is_lost(crashed=True, records=0)
    pipeline.owner_waits(records=0)


def a_zombie_reads_on_in_a_window_that_silence_has_closed(pipeline: Pipeline) -> None:
    pipeline.batch_arrives()
    pipeline.partition_is_lost(silent_ms=30)
    pipeline.batch_arrives(time=(1, 0))
    pipeline.zombie_works()


def a_zombie_writes_what_its_successor_knows_better(pipeline: Pipeline) -> None:
    pipeline.batch_arrives()
    pipeline.batch_arrives(writes=0)
    pipeline.batch_arrives(records=0, writes=0)
    pipeline.partition_is_lost()
    pipeline.zombie_works(records=0)
    pipeline.merge_is_rebuilt(log="compacted")


def a_log_is_read_backwards(pipeline: Pipeline) -> None:
    pipeline.batch_arrives(merged=0)
    pipeline.batch_arrives(merged=0)
    pipeline.last_order = tuple(range(100, 0, -1))


def a_merge_is_rebuilt_while_a_window_is_open(pipeline: Pipeline) -> None:
    for report in range(3):
        pipeline.batch_arrives(elapsed_ms=6, reports=(report,))
        pipeline.owner_waits(silent_ms=30)
    pipeline.batch_arrives(partition=1, elapsed_ms=1)
    pipeline.batch_arrives(elapsed_ms=1)
    pipeline.merge_is_rebuilt()


def finals_outlive_their_partials(pipeline: Pipeline) -> None:
    for report in range(4):
        pipeline.batch_arrives(elapsed_ms=10, reports=(report,))


#: One rule of the design broken, and a history in which it matters.
CONTROLS: list[tuple[dict[str, object], Callable[[Pipeline], None]]] = [
    ({"counting": CommitsTheReadPosition}, a_window_is_filled_in_two_turns),
    ({"counting": ForgetsTheWatermark}, an_owner_crashes),
    ({"counting": SpeaksWhileReplaying}, an_owner_crashes_and_the_next_has_read_half),
    ({"counting": AdvancesBeforeTheCommit}, a_batch_comes_when_its_idle_window_is_about_to_close),
    ({"counting": DecidesAgainByItsOwnLimits}, an_owner_with_a_lower_limit_reads_a_window_again),
    ({"counting": LimitsWhatMayHaveBeenDecided}, an_owner_dies_before_the_commit_of_what_it_has_refused),
    ({"counting": CountsCopies}, a_copy_arrives),
    ({"restoring": ForgetsTheBatches}, a_copy_arrives_after_a_restart),
    ({"restoring": CountsAgainWhatPartialsHave}, an_owner_crashes_after_it_has_sent_more_than_it_saved),
    ({"restoring": TakesWhatWasNeverCommitted}, an_owner_crashes_after_a_partial_that_it_never_committed),
    ({"holding": LetsWindowsCloseBeforeTheCommit}, a_window_is_filled_in_two_turns),
    ({"holding": CommitsBeforeThePartials}, a_turn_is_cut_off_after_its_first_write),
    ({"merging": Adds}, a_window_is_filled_in_two_turns),
    ({"merging": TakesTheFurthestOfAnyOwner}, a_zombie_reads_on_in_a_window_that_silence_has_closed),
    ({"merging": TakesTheLastThatCame}, a_log_is_read_backwards),
    ({"finals_first": False}, finals_outlive_their_partials),
    ({"merging": ForgetsWhatIsOpen}, a_merge_is_rebuilt_while_a_window_is_open),
    ({"merging": ForgetsTheFinalBefore}, a_merge_is_rebuilt_while_a_window_is_open),
    ({"writers_share_keys": True}, a_zombie_writes_what_its_successor_knows_better),
]


def _name(parameter: object) -> str:
    if isinstance(parameter, dict):
        ((name, part),) = parameter.items()
        return str(getattr(part, "__name__", name))
    return str(getattr(parameter, "__name__", ""))


@pytest.mark.parametrize(("broken", "history"), CONTROLS, ids=_name)
def test_a_broken_rule_fails_the_history_in_which_it_matters(
    broken: dict[str, object], history: Callable[[Pipeline], None]
) -> None:
    # Rules of reading again hold where nothing is restored, and otherwise only where that fails.
    broken = broken if "restoring" in broken else {**broken, "restoring": None}
    _live(_machine("tumbling", {"restoring": broken["restoring"] and Restoring})(), history)
    with pytest.raises(WrongError):
        _live(_machine("tumbling", broken)(), history)


@pytest.mark.parametrize(
    "broken",
    # The last is found after many histories; that one of them fails is shown above.
    [
        pytest.param(broken, marks=pytest.mark.long if number == 2 else ())
        for number, (broken, _) in enumerate(CONTROLS[:3])
    ],
    ids=_name,
)
def test_the_machine_notices_a_broken_rule(broken: dict[str, object]) -> None:
    with pytest.raises(WrongError):
        # What is restored is not read again, so these rules would seldom matter.
        run(_machine("sliding", {**broken, "restoring": None}), histories=300)


def _machine(collection: str, broken: Mapping[str, object] | None = None) -> type[Pipeline]:
    parts = {"collection": JointCollection.parse(COLLECTIONS[collection]), "happened": set[str]()}
    return type("Machine", (Pipeline,), {**parts, **(broken or {})})


def _live(pipeline: Pipeline, history: Callable[[Pipeline], None]) -> None:
    pipeline.begin(now_ms=1_005, last_order=())
    history(pipeline)
    pipeline.teardown()
