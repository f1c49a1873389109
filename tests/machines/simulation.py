"""A simulation of the pipeline without Kafka: logs are lists, commits a dictionary, a crash a step not taken.

Whoever holds a partition writes what the service writes, in its order. Losing a partition does not stop the holder:
it reads and writes on, and only its commits are refused.
"""

import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from stream_ldp.kinds import kind_of
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.answer import Status, WindowBounds
from stream_ldp.pipeline.content_type import Headers
from stream_ldp.pipeline.layout import Layout
from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint, file_digest
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.pane_limits import PaneLimits
from stream_ldp.pipeline.restoring import Restoring
from stream_ldp.pipeline.saved_panes import Saved
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.source_partition import Changes, SourcePartition
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.undecided import UndecidedWindows
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.distribution import Axis
from stream_ldp.records.series import EstimateSpec
from stream_ldp.records.solve import row_counts, warm_start
from tests.client.examples import estimate_of
from tests.machines.oracle import Advance, Bits, Entry, Limit, Replay, replay, window_counts


class WrongError(AssertionError):
    """The pipeline has broken a promise."""


def require(kept: bool, promise: str) -> None:
    """Raise unless the promise was kept."""
    if not kept:
        raise WrongError(promise)


@dataclass(kw_only=True)
class Cluster:
    """Everything that survives a crash, and what is promised about it.

    logs: a reports log a source partition. commits: (offset, metadata) of each. partials_log: (offset, key, value).
    letters: of each partition, the offsets of the records with a dead letter, of its owners and of all.
    finals: every final estimate published, in order. merged: the last checkpoint of a merge.
    """

    collection: Any  # of one kind, as are its finals
    partitions: int
    logs: list[list[Entry]] = field(init=False)
    commits: dict[int, tuple[int, str]] = field(default_factory=dict)
    partials_log: list[tuple[int, bytes, bytes]] = field(default_factory=list)
    finals: list[Any] = field(default_factory=list)
    merged: MergeCheckpoint | None = None
    advances: list[list[Advance]] = field(init=False)
    limits: list[list[Limit]] = field(init=False)
    letters: list[tuple[set[int], set[int]]] = field(init=False)
    now_ms: int = 1_000
    happened: set[str] = field(default_factory=set)
    _appended: int = 0
    _statistics: dict[object, bytes] = field(default_factory=dict)
    _content: dict[bytes, tuple[bytes, Headers]] = field(default_factory=dict)
    # Of each partition, what had been decided of it and the last replay.
    _replays: dict[int, tuple[object, Replay]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.logs = [[] for _ in range(self.partitions)]
        self.advances = [[] for _ in range(self.partitions)]
        self.limits = [[] for _ in range(self.partitions)]
        self.letters = [(set(), set()) for _ in range(self.partitions)]

    def append(self, partition: int, *, time_ms: int, reports: Sequence[Bits], spoiled: bool = False) -> None:
        """Append a new batch."""
        batch_id = self._appended.to_bytes(16, "little")
        self._appended += 1
        rows = np.packbits(np.array(reports, dtype=np.uint8), axis=1, bitorder="little")
        value = wire.encode(
            wire.Batch(fingerprint=self.collection.fingerprint, batch_id=batch_id, time_ms=time_ms, rows=rows)
        )
        if spoiled:
            value = value[:-1] + bytes([value[-1] ^ 1])
        self.logs[partition].append(
            Entry(
                appended_ms=self.now_ms,
                value=value,
                batch_id=batch_id,
                time_ms=time_ms,
                reports=None if spoiled else tuple(reports),
            )
        )

    def append_again(self, partition: int, which: int) -> None:
        """Append a copy of an earlier batch to its partition."""
        log = self.logs[partition]
        if log:
            log.append(replace(log[which % len(log)], appended_ms=self.now_ms))

    def replay(self, partition: int, *, end: int | None = None) -> Replay:
        """Return the oracle's view of one partition, with the committed idle advances and limits.

        A log grows at its end alone, so that the view of before is carried on where nothing else has been decided.
        """
        log, advances, limits = self.logs[partition], self.advances[partition], self.limits[partition]
        decided = len(advances), tuple(limits)
        end = len(log) if end is None else end
        known, begun = self._replays.get(partition, (None, None))
        if begun is not None and (known != decided or end < len(begun.verdicts)):
            begun = None
        now = replay(self.collection, log, advances, limits=limits, end=end, begun=begun)
        self._replays[partition] = decided, now
        return self._replays[partition][1]

    def write_partial(
        self,
        record: partials.Partial | partials.PartialGroup | partials.Watermark | Saved,
        *,
        writer: str,
        owner: bool = True,
    ) -> None:
        """Write a record of the partials topic, after checking the promises about partials.

        owner: whether the partition is still its writer's, and so are the limits that have been committed.
        """
        if isinstance(record, partials.Partial | partials.PartialGroup):
            for each in record.parts if owner else ():
                place = (each.partition, each.pane_ms, each.of, each.segment, each.end)
                statistic = each.counts.to_bytes()
                known = self._statistics.setdefault(place, statistic)
                require(known == statistic, f"two partials of {place} have different bytes")
        elif isinstance(record, partials.Watermark):
            committed = self.checkpoint(record.partition)
            require(
                committed is not None
                and committed.watermark_ms is not None
                and record.time_ms is not None
                and record.time_ms <= committed.watermark_ms,
                "a watermark is on the log that was never committed",
            )
        key, value = partials.encode(record, writer=writer)
        offset = self.partials_log[-1][0] + 1 if self.partials_log else 0
        self.partials_log.append((offset, key, value))

    def checkpoint(self, partition: int) -> Checkpoint | None:
        """Return the last commit."""
        committed = self.commits.get(partition)
        return None if committed is None else Checkpoint.parse(*committed)

    def commit(self, partition: int, checkpoint: Checkpoint, *, idle: bool) -> None:
        """Commit as the owner; `idle`: whether it took the partition for idle."""
        before = self.checkpoint(partition)
        require(before is None or before.position <= checkpoint.position, "what was reported is reported again")
        if idle and checkpoint.watermark_ms is not None:
            self.advances[partition].append(
                Advance(position=checkpoint.position, watermark_ms=checkpoint.watermark_ms)
            )
        self._limit(partition, checkpoint, decided=before.position if before else 0)
        truth = self.replay(partition, end=checkpoint.position)
        require(
            checkpoint.watermark_ms == truth.watermark_ms,
            f"committed watermark {checkpoint.watermark_ms}, the log says {truth.watermark_ms}",
        )
        window = self.collection.window
        for start, pane in truth.panes.items():
            is_open = truth.watermark_ms is None or start + window.pane_ms + window.grace_ms > truth.watermark_ms
            require(
                not is_open or checkpoint.offset <= pane.first_offset,
                "the committed offset is beyond the first report of an open pane",
            )
        self.commits[partition] = (checkpoint.offset, checkpoint.metadata())

    def _limit(self, partition: int, checkpoint: Checkpoint, *, decided: int) -> None:
        """Take note of the limits of a commit, which leave as it was what has been decided."""
        known, first = self.limits[partition], checkpoint.limits[0].since
        kept = [each for each in known if each.since < first]
        now = [*kept, *(Limit(since=each.since, batches=each.batches) for each in checkpoint.limits)]
        earlier = [[each for each in limits if each.since < decided] for limits in (known, now)]
        require(earlier[0] == earlier[1], "other limits hold for what has been decided")
        self.limits[partition] = now

    def append_last(self, partition: int) -> None:
        """Append a batch that moves the partition's watermark to now."""
        bits = self.collection.mechanism.bits
        self.append(partition, time_ms=self.now_ms, reports=[(0,) * bits])

    def layouts(self, fingerprints: set[bytes]) -> list[Layout]:
        """List the layouts of reports with these fingerprints, besides that of the collection."""
        return []

    def answer(self, task: WindowTask[Any, Any]) -> Any:
        """Solve a question."""
        return answer(self.collection, task)

    def tell(self, answer: Any) -> None:
        """Publish what follows from a final."""

    def compact(self) -> None:
        """Keep the last record of every key."""
        last = {key: offset for offset, key, _ in self.partials_log}
        self.partials_log = [record for record in self.partials_log if last[record[1]] == record[0]]

    def expire(self) -> None:
        """Delete, as retention does, partials that no window without a final needs, and some of other windows."""
        window = self.collection.window
        answered = (estimate for estimate in self.finals if estimate.status is Status.ANSWERED)
        last = {estimate.estimate: estimate.window.start_ms for estimate in answered}
        if len(last) < len(self.collection.estimates):
            return
        remembered_ms = (window.memory_windows - 1) * window.size_ms
        kept_from = min(last.values()) + window.pane_ms - remembered_ms - window.size_ms
        self.partials_log = [
            (offset, key, value)
            for offset, key, value in self.partials_log
            if not isinstance(record := partials.decode(value), partials.Partial | partials.PartialGroup)
            or record.pane_ms >= kept_from
        ]

    def publish(self, estimate: Any, task: WindowTask[Any, Any]) -> None:
        """Publish a final; it has to be the oracle's, and the only one of its window."""
        self.check(task)
        written = estimate.to_bytes(), estimate.headers
        content = self._content.setdefault(estimate.key, written)
        require(content == written, f"window {task.window_ms} has two finals with other content")
        self.finals.append(estimate)

    def check(self, task: WindowTask[Any, Any]) -> None:
        """Check that the counts of a question are the oracle's."""
        replays = [self.replay(partition) for partition in range(self.partitions)]
        truth = window_counts(self.collection, replays, task.series.of)
        if task.silent_until_ms is not None:
            last_ms = task.silent_until_ms - self.collection.window.size_ms
            spoken = [start for start, counts in truth.items() if task.window_ms <= start <= last_ms and counts]
            require(not spoken, f"windows {spoken} are said to be without reports")
        for age, (_, parts) in enumerate(task.counts(RowCounts)):
            start = task.window_ms - age * self.collection.window.size_ms
            counted: Counter[Bits] = Counter()
            for part in parts:
                for row, count in zip(part.unpacked().tolist(), part.counts.tolist(), strict=True):
                    counted[tuple(row)] += count
            require(
                counted == truth.get(start, Counter()),
                f"final of window {task.window_ms}: counts of {start} differ from the batch answer",
            )

    def check_letters(self) -> None:
        """Check that every record is counted, or a copy, or has a dead letter of an owner, and not both."""
        for partition, (of_owners, of_all) in enumerate(self.letters):
            taken = {"counted", "duplicate"}
            verdicts = enumerate(self.replay(partition).verdicts)
            refused = {offset for offset, verdict in verdicts if verdict not in taken}
            require(refused <= of_all, f"no dead letter of {refused - of_all}")
            require(of_owners <= refused, f"dead letters of {of_owners - refused}, which count")

    def windows_missing(self) -> list[tuple[str, int]]:
        """List the windows and estimates that have reports but no final, though every partition has passed them."""
        replays = [self.replay(partition) for partition in range(self.partitions)]
        published = {(estimate.estimate, estimate.window.start_ms) for estimate in self.finals}
        window = self.collection.window
        reached = min(each.watermark_ms if each.watermark_ms is not None else -1 for each in replays)
        return [
            (spec.name, start)
            for spec in self.collection.estimates
            for start in window_counts(self.collection, replays, spec.of)
            if start + window.size_ms + window.grace_ms <= reached and (spec.name, start) not in published
        ]


class Holder:
    """A worker's hold of one source partition, from its start on; it need not know that it has lost it."""

    #: The order of a flush.
    order: tuple[str, ...] = ("partials", "commit", "watermark")

    def __init__(
        self,
        cluster: Cluster,
        partition: int,
        *,
        writer: str,
        counting: type[SourcePartition] = SourcePartition,
        restoring: type[Restoring] | None = Restoring,
        save_records: int = 2,
        max_batches: int = sys.maxsize,
    ) -> None:
        """`restoring`: None to save no panes, and read all reports of open ones again."""
        self.cluster = cluster
        self.partition = partition
        self.writer = writer
        self.owner = True
        self.dropped = False
        self.state = counting(
            cluster.collection,
            kind_of(cluster.collection).layout(cluster.collection),
            partition=partition,
            checkpoint=cluster.checkpoint(partition),
        )
        self.state._limits, self.state._log_end = PaneLimits(batches=max_batches), len(cluster.logs[partition])
        known = cluster.checkpoint(partition)
        if restoring is not None:
            self.state._save_records = save_records
            if known is not None and known.saved is not None:
                self._restore(restoring({partition: known.saved}, **self._collection()))
        self._reported = self.state.position if known is None else known.position
        self._watermark_ms = None if known is None else known.watermark_ms
        self._known_limits = self.state.checkpoint.limits
        self._letters: set[int] = set()
        self._writes: deque[Callable[[], None]] = deque()
        self._idle = False
        self._in_doubt = False

    def _collection(self) -> dict[str, str]:
        collection = self.cluster.collection
        return {"fingerprint": collection.fingerprint.hex(), "file": file_digest(collection)}

    def _restore(self, restoring: Restoring) -> None:
        """Go on from the panes that are saved."""
        for _, _, value in self.cluster.partials_log:
            restoring.take(partials.decode(value))
        restored = restoring.panes(self.partition)
        self.cluster.happened.add("panes were restored" if restored else "saved panes were missing")
        if restored is not None:
            for layout in self.cluster.layouts(restored.fingerprints):
                self.state.learn(layout)
            self.state.restore(restored)

    def poll(self, records: int) -> None:
        """Read on."""
        if self.dropped:
            return
        begin = self.state.position
        taken = self.cluster.logs[self.partition][begin : begin + records]
        if not taken:
            return
        for layout in self.cluster.layouts(wire.fingerprints([entry.value for entry in taken])):
            self.state.learn(layout)
        counted = self.state.count(
            list(range(begin, begin + len(taken))),
            [entry.appended_ms for entry in taken],
            [entry.value for entry in taken],
        )
        self._idle = False
        first = max(begin, self._reported)
        self._reported = max(self._reported, self.state.position)
        self._letters |= {begin + index for index, _ in counted.rejected}
        if not self.owner or self._in_doubt:
            return  # It may have taken the partition for idle, which the oracle learns with the commit.
        truth = self.cluster.replay(self.partition, end=self.state.position)
        news = range(first, self.state.position)
        for what, reported in (
            ("counted", counted.reports),
            ("duplicate", counted.duplicates),
            ("late", counted.late),
        ):
            number = sum(self._reports(offset) for offset in news if truth.verdicts[offset] == what)
            require(reported == number, f"{reported} reports as {what}, there are {number}")
        refused = {begin + index: why.reason.value for index, why in counted.rejected}
        expected = {
            offset: truth.verdicts[offset]
            for offset in news
            if truth.verdicts[offset] not in {"counted", "duplicate"}
        }
        require(refused == expected, f"refused {refused}, should have refused {expected}")

    def _reports(self, offset: int) -> int:
        return len(self.cluster.logs[self.partition][offset].reports or ())

    def fall_silent(self, elapsed_ms: int) -> None:
        """Let nothing come for a while; at the end of the log, that may make the partition idle."""
        if self.dropped or not self.state.observe_silence(elapsed_ms):
            return
        if self.state.position == len(self.cluster.logs[self.partition]):
            others = [self.cluster.checkpoint(other) for other in self.cluster.commits if other != self.partition]
            times = [each.watermark_ms for each in others if each is not None and each.watermark_ms is not None]
            self.state.advance_idle(max(times, default=None))
            self._idle = True

    def flush(self, writes: int) -> None:
        """Begin a flush, or go on with the one that was begun, by so many writes."""
        if self.dropped:
            return
        if not self._writes:
            changes = self.state.take_changes()
            if changes is not None:
                moved = changes.checkpoint.watermark_ms != self._watermark_ms
                self._watermark_ms = changes.checkpoint.watermark_ms
                idle = moved and self._idle
                self._in_doubt = idle or changes.checkpoint.limits != self._known_limits
                self._known_limits = changes.checkpoint.limits
                self._writes.extend(self._steps(changes, idle=idle))
                self._idle = self._idle and not moved
        for _ in range(min(writes, len(self._writes))):
            self._writes.popleft()()
            if self.dropped:
                return

    def _steps(self, changes: Changes, *, idle: bool) -> list[Callable[[], None]]:
        def commit() -> None:
            if self.owner:
                self.cluster.commit(self.partition, changes.checkpoint, idle=idle)
                self._in_doubt = False
            else:
                self.dropped = True

        letters, self._letters = self._letters, set()

        def write_letters() -> None:
            of_owners, of_all = self.cluster.letters[self.partition]
            of_all |= letters
            if self.owner:
                of_owners |= letters

        watermark = changes.watermark
        steps: dict[str, list[Callable[[], None]]] = {
            "partials": [
                *([write_letters] if letters else []),
                *(
                    lambda record=record: self.cluster.write_partial(record, writer=self.writer, owner=self.owner)
                    for record in (*changes.records, *changes.saved)
                ),
            ],
            "commit": [commit],
            "watermark": []
            if watermark is None
            else [lambda: self.cluster.write_partial(watermark, writer=self.writer)],
        }
        return [step for name in self.order for step in steps[name]]


class LooksAtEverything(Merge):
    """A merge that compares the windows it keeps track of with those found by looking at all its panes."""

    def due(self) -> WindowTask[Any, Any] | None:
        """Return what the merge returns, after the comparison."""
        found = UndecidedWindows(self.collection.series, self.collection.window)
        for final in self._finals.all():
            found.decide(final.series, final.window.end_ms)
        for series in self.collection.series:
            if (end_ms := self._finals.silent_until(series.name)) is not None:
                found.decide(series.name, end_ms)
        for pane, series in product(self._panes, self.collection.series):
            if self._holds_reports(pane, series):
                found.fill(pane, series)
        due = super().due()
        require(self._undecided.all() == found.all(), "an undecided window is unknown")
        return due


class Merger:
    """A merge that reads the partials log and publishes; rebuilt, when it begins, from what was published."""

    def __init__(
        self, cluster: Cluster, *, order: Sequence[int] = (), merge: type[Merge] = Merge, finals_first: bool = True
    ) -> None:
        """`order`: ranks by which the records of the log are read in the rebuild."""
        self.cluster = cluster
        self.merge = merge(cluster.collection, partitions=cluster.partitions)
        self._next = 0
        begin = cluster.merged if finals_first else None
        if begin is not None:
            self.merge.resume(begin)
        if finals_first:
            for offset, estimate in enumerate(cluster.finals):
                if begin is None or offset >= begin.answers:
                    self.merge.decide(estimate, offset=offset)
            for estimate in self.merge.decided:
                self.cluster.tell(estimate)
        log = [record for record in cluster.partials_log if begin is None or record[0] >= begin.partials]
        ranks = {id(record): order[index % len(order)] if order else 0 for index, record in enumerate(log)}
        for record in sorted(log, key=lambda record: ranks[id(record)]):
            self._apply(record)

    def read(self, records: int) -> None:
        """Read on in the log, and publish after every record."""
        for record in [record for record in self.cluster.partials_log if record[0] >= self._next][:records]:
            self._apply(record)
            self.speak()

    def speak(self) -> None:
        """Publish every final that is due."""
        while (task := self.merge.due()) is not None:
            estimate = self.cluster.answer(task)
            if task.silent_until_ms is not None:
                estimate = estimate.without_reports(until_ms=task.silent_until_ms)
            self.cluster.publish(estimate, task)
            self.cluster.tell(estimate)
            self.merge.decide(estimate, offset=len(self.cluster.finals) - 1)
        self.merge.forget()
        # That of an older merge may follow that of a newer one, and does no harm.
        self.cluster.merged = self.merge.checkpoint or self.cluster.merged

    def _apply(self, read: tuple[int, bytes, bytes]) -> None:
        offset, _, value = read
        record = partials.decode(value)
        if not isinstance(record, Saved):
            self.merge.apply(record, offset=offset)
        self._next = max(self._next, offset + 1)


def answer(collection: JointCollection, task: WindowTask[Any, Any]) -> Estimate:
    """Stand in for the solver: any pure function of the counts and the previous final shows what it was given."""
    spec = task.series
    assert isinstance(spec, EstimateSpec)
    sizes = collection.sizes_of(spec)
    counts = row_counts(task, bits=len(collection.bits_of(spec.of)))
    joint = np.ones(sizes)
    for axis, ones in enumerate(
        np.split(counts.counts.astype(np.float64) @ counts.unpacked(), np.cumsum(sizes)[:-1])
    ):
        joint *= (ones + 1.0).reshape([-1 if each == axis else 1 for each in range(len(sizes))])
    joint /= joint.sum()
    if (start := warm_start(task, sizes=sizes)) is not None:
        joint = 0.5 * (joint + start)
    return estimate_of(
        estimate=spec.name,
        window=WindowBounds(start_ms=task.window_ms, end_ms=task.window_ms + collection.window.size_ms),
        reports=task.reports,
        effective_reports=float(counts.reports),
        axes=tuple(
            Axis(attribute=attribute.name, values=attribute.values) for attribute in collection.attributes_of(spec)
        ),
        probability=joint.ravel().tolist(),
        standard_error=[0.0] * joint.size,
    )
