"""This module merges partials into answers, for the collections whose partials this worker owns.

A merge publishes nothing before it has read the log: the answers first, since what is published is decided, then the
partials. It begins where its last commit says that the records of what is still open begin. After that each final is
solved in order of time from the final before it, published, acknowledged, and only then remembered.

Each final is on the log once, although two workers may merge a collection at a time: one has been frozen, or they
serve different sets of collections and so are in different groups. Whoever has a final to publish takes the answers
topic if it is not its own, which shuts out all others, and reads what they have written: only a final that is not
there is published. Nothing else keeps them apart, and neither waits for the other to end.

The round of the next phase of an epoch follows from the final alone, and so do synthetic records. Both are published
again after every start, and after finals that another worker has published, since it may have died before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mode import Service

from stream_ldp.collection.synthesis import synthesis_of
from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.fenced_producer import Fenced
from stream_ldp.kafka.merge_commits import commit_merge, last_merge
from stream_ldp.kafka.patience import patiently
from stream_ldp.kafka.producer import Record
from stream_ldp.kafka.releases import released
from stream_ldp.kafka.tracing import span
from stream_ldp.kinds import is_withheld, kind_of
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.provisionals import SHARE, Provisionals
from stream_ldp.pipeline.quarantine import Quarantine
from stream_ldp.service.dead_letters import unread_letter
from stream_ldp.service.solver import Solver
from stream_ldp.service.windows_log import AnswersLog, partials_log
from stream_ldp.synthesis.publication import are_due, published
from stream_ldp.synthesis.window import whole

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.cluster import Cluster
    from stream_ldp.kafka.fenced_producer import ExclusiveWriter
    from stream_ldp.kafka.producer import Producer
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint
    from stream_ldp.pipeline.quarantine import LogEntry, Unread
    from stream_ldp.pipeline.question import Question
    from stream_ldp.records.answer import Estimate
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.service.metrics import Metrics
    from stream_ldp.service.solver import Solved
    from stream_ldp.views.collection import ViewsCollection

__all__ = ["Merger", "PartitionsAdded"]

T = TypeVar("T")

log = logging.getLogger(__name__)

#: Seconds for one final answer, after which the worker is not ready: 2^17 cells take a minute.
LATE_SECONDS = 120.0

#: Seconds between two looks at whether an operator has released the records that hold finals back.
RELEASE_SECONDS = 2.0

#: Seconds between two commits of the place from which windows can be rebuilt: about as many are read again.
COMMIT_SECONDS = 5.0


#: Seconds that a worker which has been shut out leaves to the other for its final, doubled with each time in a row:
#: two that took the topic back at once would shut each other out for ever.
YIELD_SECONDS = 0.5


class PartitionsAdded(StreamLDPError, RuntimeError):
    """The reports topic has got more partitions, of which this worker knows nothing."""


class _Owned:
    """A collection that this worker merges."""

    def __init__(
        self, collection: Collection, *, partitions: int, settings: Settings, writer: ExclusiveWriter
    ) -> None:
        self.merge = Merge(collection, partitions=partitions)
        self.quarantine = Quarantine()
        self.answers = AnswersLog(self.merge, self.quarantine, settings=settings)
        self.writer = writer
        self.held: list[Unread] = []
        self.asked_at = -RELEASE_SECONDS
        # Since when the final that is due next is being solved and published.
        self.due_since: float | None = None
        # The last commit of the place from which it can be rebuilt, and when that was looked at.
        self.committed: MergeCheckpoint | None = None
        self.committed_at = -math.inf
        self.rebuilt = False
        # Records that came while it was being rebuilt: each partition is applied in the order of its log.
        self.waiting: deque[LogEntry] = deque()
        self.wake = asyncio.Event()
        self.task: asyncio.Future[None] | None = None


class Merger(Service):
    """A merger merges partials, solves windows and publishes answers."""

    abstract = False
    #: What the Service logs of its own life is that of a library.
    logger = logging.getLogger("mode.worker")

    def __init__(
        self,
        collections: Iterable[Collection],
        *,
        settings: Settings,
        report_partitions: Mapping[str, int],
        producer: Producer,
        writers: Callable[[Collection], ExclusiveWriter],
        cluster: Cluster,
        metrics: Metrics,
    ) -> None:
        """Prepare for some collections.

        report_partitions: number of partitions of each collection's reports topic, by the collection's name.
        writers: makes what writes the final answers of a collection.
        """
        super().__init__()
        self._collections = {collection.name: collection for collection in collections}
        self._names = settings.topic_names
        self._settings = settings
        self._report_partitions = report_partitions
        self._producer = producer
        self._writers = writers
        self._cluster = cluster
        self._metrics = metrics
        self._owned: dict[str, _Owned] = {}
        self._assigned = False
        self._solver = Solver(metrics=metrics)

    def problems(self) -> list[str]:
        """Say why the merger is not ready; empty when it is."""
        if not self._assigned:
            return [f"waiting for partitions of {self._names.partials}"]
        rebuilding = [f"{name}: rebuilding its windows" for name, owned in self._owned.items() if not owned.rebuilt]
        held = [_holding(name, owned.held) for name, owned in self._owned.items() if owned.held]
        due = {
            name: time.monotonic() - owned.due_since
            for name, owned in self._owned.items()
            if owned.due_since is not None
        }
        late = [
            f"{name}: a final answer has been due for {seconds:.0f} s"
            for name, seconds in due.items()
            if seconds > LATE_SECONDS
        ]
        return rebuilding + held + late

    async def take_over(self, partitions: set[int]) -> None:
        """Begin to merge the collections of these partitions of the partials topic."""
        self._assigned = True
        for name, collection in self._collections.items():
            if self._partition_of(name) in partitions and name not in self._owned:
                owned = _Owned(
                    collection,
                    partitions=self._report_partitions[name],
                    settings=self._settings,
                    writer=self._writers(collection),
                )
                self._owned[name] = owned
                log.info("%s: merges its windows", name, extra={"collection": name})
                owned.task = self.add_future(self._run(owned))

    async def give_up(self, partitions: set[int]) -> None:
        """Stop merging the collections of these partitions, and forget their windows."""
        for name in [name for name in self._owned if self._partition_of(name) in partitions]:
            owned = self._owned.pop(name)
            log.info("%s: gives up its windows", name, extra={"collection": name})
            self._metrics.records_holding.labels(name).set(0)
            with contextlib.suppress(KeyError):
                self._metrics.last_final.remove(name)
            for series in owned.merge.collection.series:
                with contextlib.suppress(KeyError):
                    self._metrics.window_plausibility.remove(name, series.name)
            if owned.task is not None:
                owned.task.cancel()

    async def apply(self, entry: LogEntry) -> None:
        """Apply one record of the partials topic; one that cannot be read is passed over, and dead-lettered.

        A record of a collection that another group of workers merges, or whose partition has just been given up, is
        not for this worker.

        Raises:
            PartitionsAdded: the reports topic has more partitions than when this worker started.
            KafkaError, TimeoutError: the brokers have not answered for as long as an outage may last.
        """
        for name, owned in list(self._owned.items()):
            if self._partition_of(name) != entry.partition or entry.collection not in (None, name):
                continue
            if owned.rebuilt:
                await self._take(owned, entry)
            else:
                owned.waiting.append(entry)

    async def _take(self, owned: _Owned, entry: LogEntry) -> None:
        """Apply a record that has just been written; see `apply`."""
        unread = await self._fold(owned, entry)
        owned.wake.set()
        if unread is None:
            return
        collection = owned.merge.collection
        log.warning("%s: passed over, and dead-lettered: %s", collection.name, unread)
        self._metrics.records_passed_over.labels(collection.name, "partials").inc()
        topic = self._names.dead_letters(collection.name)
        await self._producer.publish([unread_letter(entry, unread, collection=collection, topic=topic)])

    async def _fold(self, owned: _Owned, entry: LogEntry) -> Unread | None:
        """Apply a record; return it if it cannot be read."""
        merge = owned.merge
        if entry.record is not None and entry.record.partition >= merge.partitions:
            topic = self._names.reports(merge.collection.name)
            now = (await self._patiently(lambda: self._cluster.topics([topic])))[topic].partitions
            if entry.record.partition < now:
                raise PartitionsAdded(
                    f"topic {topic} has {now} partitions, and had {merge.partitions} when this worker started: "
                    "start it again"
                )
        return owned.quarantine.apply(merge, entry)

    async def on_stop(self) -> None:
        """Stop all merges; a window that is being solved is solved again by the next owner."""
        await self.give_up(set(range(self._settings.partials_partitions)))

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await patiently(ask, seconds=self._settings.outage_seconds)

    async def _release(self, owned: _Owned) -> None:
        for topic, before in (await released(self._cluster, self._settings, owned.merge.collection)).items():
            owned.quarantine.release(topic, before)

    def _partition_of(self, name: str) -> int:
        return partials.partition_of(name, partitions=self._settings.partials_partitions)

    async def _run(self, owned: _Owned) -> None:
        try:
            await self._merge(owned)
        finally:
            await owned.writer.stop()

    async def _merge(self, owned: _Owned) -> None:
        await self._patiently(lambda: self._rebuild(owned))
        while owned.waiting:
            await self._take(owned, owned.waiting.popleft())
        owned.rebuilt = True
        merge = owned.merge
        await self._follow_up(merge)
        provisionals = [Provisionals(merge, each, now=time.monotonic()) for each in merge.collection.series]
        while not self.should_stop:
            owned.wake.clear()
            held = await self._is_held(owned)
            if not merge.refresh():
                await asyncio.sleep(0)
            elif not held and (question := merge.due()) is not None:
                owned.due_since = time.monotonic()
                is_first = not merge.has_final(question.window_ms)
                final = await self._publish_final(owned, question)
                owned.due_since = None
                if final is not None and is_first:
                    await self._publish_records(merge, final)
                merge.forget()
                await self._commit(owned)
            elif not await self._publish_provisional(merge, provisionals):
                if not held:
                    merge.forget()
                    await self._commit(owned)
                due_at = [each.due_at for each in provisionals if each.due_at is not None]
                left = max(0.0, min(due_at) - time.monotonic()) if due_at else None
                if held:
                    left = RELEASE_SECONDS if left is None else min(left, RELEASE_SECONDS)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(owned.wake.wait(), left)

    async def _follow_up(self, merge: Merge) -> None:
        """Publish what follows from the newest finals on the log; whoever published them may have died before."""
        for answer in merge.decided:
            await self._ask_next(merge.collection, answer)
        # A window that is forgotten has its records: they are published before it is.
        if merge.decided and merge.holds(merge.decided[-1].window.start_ms):
            await self._publish_records(merge, merge.decided[-1])

    async def _publish_final(self, owned: _Owned, question: Question[Any, Any]) -> Answer | None:
        """Publish the answer to a question, and return it.

        Returns:
            None if there are too few users for an answer, or if another worker has published it.
        """
        merge = owned.merge
        collection = merge.collection
        if await asyncio.to_thread(is_withheld, collection, question):
            log.info(
                "%s/%s: nothing is published of a window of fewer than %d users",
                collection.name,
                question.series.name,
                collection.min_reports,
            )
            self._metrics.windows_withheld.labels(collection.name).inc()
            self._metrics.epochs_without_result.labels(collection.name).inc(_epochs_ended(collection, question))
            merge.skip(question.series.name, question.window_ms + collection.window.size_ms)
            return None
        with span("answer", root=True, collection=collection.name, series=question.series.name):
            answer = (await self._solve(merge.collection, question)).answer
            offset = await self._write_once(owned, question, answer)
        if offset is None:
            await self._follow_up(merge)
            return None
        await self._ask_next(merge.collection, answer)
        merge.decide(answer, offset=offset)
        if answer.status is Status.NO_REPORTS:
            name = merge.collection.name
            self._metrics.windows_silent.labels(name).inc()
            self._metrics.epochs_without_result.labels(name).inc(_epochs_ended(collection, question))
            log.warning("%s/%s: nobody reported in %s", name, answer.series, answer.window)
            return answer
        self._observe_plausibility(answer)
        closed_s = max(0.0, time.time() - answer.window.end_ms / 1_000)
        self._metrics.window_close_delay.labels(merge.collection.name).observe(closed_s)
        self._metrics.last_final.labels(merge.collection.name).set_to_current_time()
        log.info(
            "%s/%s: final answer of %s, from %d reports, %.1f s after its end",
            *(answer.collection, answer.series, answer.window, question.reports, closed_s),
            extra={
                "collection": answer.collection,
                "series": answer.series,
                "window": str(answer.window),
                "reports": question.reports,
                "delay_seconds": round(closed_s, 3),
            },
        )
        return answer

    async def _publish_records(self, merge: Merge, final: Answer) -> None:
        """Publish the synthetic records of a window with its first final, if the collection asks for some.

        They are published after the final, which they would hold up, and before the merge forgets the window. After
        a start those of the last window are published again unless it is forgotten, since an earlier owner may have
        died before: they have the same keys and the same content.
        """
        collection = merge.collection
        if (spec := synthesis_of(collection)) is None:
            return
        joint = cast("JointCollection | ViewsCollection", collection)
        question = merge.question(final.window.start_ms, whole(joint), final=True)
        estimated = merge.question(final.window.start_ms, collection.series[0], final=True)
        if not are_due(question, estimated, final):
            log.info(
                "%s: no records are made of %s: %d of %d reports are counted for them",
                *(collection.name, final.window, sum(question.reports_by_window), sum(estimated.reports_by_window)),
            )
            return
        estimate, earlier = cast("Estimate", final), merge.earlier(final.window.start_ms)
        topic = self._names.records(collection.name)

        def records() -> list[Record]:
            chunks = published(joint, question, estimate, earlier=earlier)
            return [
                Record(topic=topic, key=each.key, value=each.to_bytes(), partition=0, headers=each.headers)
                for each in chunks
            ]

        chunks = (await self._solver.work(collection, question, records)).answer
        await self._producer.publish(chunks)
        self._metrics.synthetic_records_published.labels(collection.name).inc(spec.records)

    async def _is_held(self, owned: _Owned) -> bool:
        """Decide whether something that cannot be read holds the finals of a collection back, and say so."""
        name = owned.merge.collection.name
        held = owned.quarantine.holding(owned.merge)
        if held and time.monotonic() >= owned.asked_at + RELEASE_SECONDS:
            owned.asked_at = time.monotonic()
            await self._patiently(lambda: self._release(owned))
            held = owned.quarantine.holding(owned.merge)
        if held != owned.held:
            if held:
                log.error("%s", _holding(name, held))
            else:
                log.warning("%s: finals go on", name)
            self._metrics.records_holding.labels(name).set(len(held))
        owned.held = held
        return bool(held)

    def _observe_plausibility(self, answer: Answer) -> None:
        if answer.plausibility is None:
            return
        labels = answer.collection, answer.series
        self._metrics.window_plausibility.labels(*labels).set(answer.plausibility.statistic)
        if answer.plausibility.flagged:
            self._metrics.windows_implausible.labels(answer.collection).inc()
            log.warning("%s: the reports of the window of %s do not look honest", "/".join(labels), answer.window)

    async def _publish_provisional(self, merge: Merge, provisionals: Iterable[Provisionals]) -> bool:
        """Publish a provisional answer if one is due, and return whether it was; note those that are left out."""
        name = merge.collection.name
        for each in provisionals:
            before = each.skipped
            question = each.next(now=time.monotonic())
            if each.skipped > before:
                self._metrics.provisionals_skipped.labels(name).inc(each.skipped - before)
                if not before:
                    log.warning(
                        "%s/%s: provisional answers are skipped, as their solves take more than %.0f %% of `every`, "
                        "%g s: make it longer, or ask for fewer cells",
                        name,
                        each.series.name,
                        100 * SHARE,
                        each.series.every_ms / 1_000,
                    )
            if question is not None and await asyncio.to_thread(is_withheld, merge.collection, question):
                each.answer(question, seconds=0.0, now=time.monotonic())
            elif question is not None:
                solved = await self._solve(merge.collection, question)
                await self._publish(merge.collection, solved.answer, self._producer)
                each.answer(question, seconds=solved.seconds, now=time.monotonic())
                return True
        return False

    async def _solve(self, collection: Collection, question: Question[Any, Any]) -> Solved[Answer]:
        about = {"collection": collection.name, "series": question.series.name, "reports": question.reports}
        with span("solve", **about):
            solved = await self._solver.solve(collection, question)
        fit_of = kind_of(collection).fit
        if fit_of is not None and solved.answer.status is Status.ANSWERED:
            fit = fit_of(solved.answer)
            self._metrics.em_iterations.labels(collection.name).observe(fit.iterations)
            self._metrics.em_starts.labels(collection.name, fit.start).inc()
            self._metrics.estimates_certified.labels(collection.name, str(fit.certified).lower()).inc()
        return solved

    async def _write_once(self, owned: _Owned, question: Question[Any, Any], answer: Answer) -> int | None:
        """Publish a final answer unless it is on the log, and return its offset; None if it is there."""
        merge, name = owned.merge, owned.merge.collection.name

        async def is_there() -> bool:
            await self._patiently(lambda: self._read_answers(owned))
            return merge.has_decided(question.series, answer.window.end_ms)

        shut_out = 0
        while owned.writer.held or not await is_there():
            try:
                if not owned.writer.held:
                    await self._patiently(owned.writer.take)
                    # Whoever had the topic may have written to it until now, and cannot any more.
                    if await is_there():
                        break
                offset = await self._publish(merge.collection, answer, owned.writer)
            except Fenced:
                log.info("%s: another worker publishes its finals as well", name, extra={"collection": name})
                await asyncio.sleep(YIELD_SECONDS * 2**shut_out)
                shut_out += 1
            else:
                owned.answers.position = offset + 1
                return offset
        log.info("%s/%s: another worker has published the final answer of %s", name, answer.series, answer.window)
        return None

    async def _publish(self, collection: Collection, answer: Answer, writer: Producer | ExclusiveWriter) -> int:
        """Publish an answer, and return its offset."""
        topic = self._names.answers(collection)
        kind = "final" if answer.final else "provisional"
        record = Record(topic=topic, key=answer.key, value=answer.to_bytes(), partition=0, headers=answer.headers)
        with span("publish", collection=collection.name, series=answer.series, kind=kind, window=str(answer.window)):
            offset = await writer.write(record)
        self._metrics.estimates_published.labels(collection.name, kind).inc()
        return offset

    async def _ask_next(self, collection: Collection, answer: Answer) -> None:
        """Publish the round that follows from a final answer, if there is one."""
        rounds = kind_of(collection).rounds
        if rounds is not None and (asked := rounds.after(collection, answer)) is not None:
            topic = self._names.rounds(collection.name)
            await self._producer.publish(
                [Record(topic=topic, key=asked.key, value=asked.to_bytes(), partition=0, headers=asked.headers)]
            )
            self._metrics.rounds_published.labels(collection.name).inc()

    async def _rebuild(self, owned: _Owned) -> None:
        """Rebuild the state from the log, as far as it is needed: the final answers, then the partials."""
        began = time.monotonic()
        merge, name = owned.merge, owned.merge.collection.name
        begin = await last_merge(self._cluster, self._settings, merge.collection)
        if begin is not None:
            merge.resume(begin)
            owned.answers.position = begin.answers
        await self._read_answers(owned)
        number = 0
        async for entry in partials_log(name, settings=self._settings, begin=0 if begin is None else begin.partials):
            number += 1
            await self._fold(owned, entry)
        await self._release(owned)
        took = time.monotonic() - began
        self._metrics.rebuild_duration.labels(name).observe(took)
        log.info("%s: windows rebuilt from %d partials in %.1f s", name, number, took)

    async def _read_answers(self, owned: _Owned) -> None:
        """Take note of the final answers that have come on the log."""
        name = owned.merge.collection.name
        async for unread in owned.answers.read():
            log.warning("%s: passed over: %s", name, unread)
            self._metrics.records_passed_over.labels(name, "answers").inc()

    async def _commit(self, owned: _Owned) -> None:
        """Commit, now and then, from where the windows of a collection can be rebuilt."""
        if time.monotonic() < owned.committed_at + COMMIT_SECONDS:
            return
        owned.committed_at = time.monotonic()
        checkpoint = owned.quarantine.bound(owned.merge.checkpoint)
        if checkpoint is None or checkpoint == owned.committed:
            return
        await self._patiently(lambda: commit_merge(self._cluster, self._settings, owned.merge.collection, checkpoint))
        owned.committed = checkpoint


def _epochs_ended(collection: Collection, question: Question[Any, Any]) -> int:
    """Count the epochs that a window without an answer ends, or a run of silent ones: 0 for kinds without epochs."""
    if kind_of(collection).rounds is None:
        return 0
    until_ms = question.silent_until_ms or question.window_ms + collection.window.size_ms
    # A later phase is asked once an epoch.
    period_ms = question.series.period_ms(collection.window) or until_ms - question.window_ms
    return -(-(until_ms - question.window_ms) // period_ms)


def _holding(name: str, held: Sequence[Unread]) -> str:
    first, *others = held
    more = f" (and {len(others)} more)" if others else ""
    return (
        f"{name}: finals are held back by a record that cannot be read and may hide what they need: {first}{more} -> "
        "see them with `stream-ldp quarantine list`, and go on without them with `stream-ldp quarantine release`"
    )
