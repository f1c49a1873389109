"""Merge the partials of one collection into answers, as long as this worker owns them.

A merge publishes nothing before it has read the log: the answers first, since what is published is decided, then the
partials. It begins where its last commit says that the records of what is still open begin. After that each final is
solved in order of time from the previous final, published, acknowledged, and only then remembered.

The round of the next phase of an epoch follows from the final, and so do its rows and synthetic records. All are
published again after every start, and after finals that another worker has published, since it may have died before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from aiokafka.errors import UnknownTopicOrPartitionError

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.merge_commits import commit_merge, last_merge
from stream_ldp.kafka.patience import patiently
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.tracing import span
from stream_ldp.kinds import kind_of
from stream_ldp.merge_step import MergeStep, next_round, window_records
from stream_ldp.pipeline.answer import Answer, Status, WindowBounds
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import encode, partition_of
from stream_ldp.pipeline.provisionals import SHARE, Provisionals
from stream_ldp.pipeline.quarantine import LogEntry, Quarantine, Unread, Unsolved
from stream_ldp.pipeline.region_waits import RegionWaits
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.pipeline.rows import published_rows
from stream_ldp.service.dead_letters import Refused, dead_letter
from stream_ldp.service.finals import Finals
from stream_ldp.service.holding import Holding
from stream_ldp.service.rejection_log import RejectionLog
from stream_ldp.service.standstill import Standstill
from stream_ldp.service.windows_log import partials_log

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.cluster import Cluster
    from stream_ldp.kafka.fenced_producer import ExclusiveWriter
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint
    from stream_ldp.pipeline.synthetic import WindowRecords
    from stream_ldp.pipeline.topic_identity import TopicIdentity
    from stream_ldp.pipeline.window_task import WindowTask
    from stream_ldp.service.metrics import Metrics
    from stream_ldp.service.solver import Solver

T = TypeVar("T")

log = logging.getLogger(__name__)

#: Seconds for one final answer, after which the worker is not ready: 2^17 cells take a minute.
LATE_SECONDS = 120.0

#: Seconds of provisional answers that are solved in one turn, and published together: each turn costs a thread, and
#: each write a round trip, which take as long as a small solve. A final hardly waits so long for the turn to end.
TOGETHER_SECONDS = 0.1

#: Rows that are handed to the producer at a time: about half a megabyte.
ROWS_AT_ONCE = 1_000

#: Seconds between two commits of the place from which windows can be rebuilt: about as many are read again.
COMMIT_SECONDS = 5.0

#: Seconds within which all brokers have heard of a partition that one of them has named, and between two questions.
HEARSAY_SECONDS, HEARSAY_WAIT_SECONDS = 5.0, 0.2
#: Seconds between two such waits.
HEARSAY_PAUSE_SECONDS = 60.0
#: Seconds after which a window that could not be solved is tried again: what failed may have been the machine.
UNSOLVED_SECONDS = 60.0

#: Seconds between two looks at regions that windows may wait for.
REGION_SECONDS = 1.0

#: Forms of the reports topic, other than the present one, that watermarks name and nobody needs to ask about again.
MAX_FORMER = 16


#: Dead letters of partials that wait at most to be written together, and bytes of one that waits for no others.
MAX_LETTERS, LARGE_LETTER_BYTES = 100, 2**14


class _CannotSolve(StreamLDPError, RuntimeError):
    """What was to be made of a window cannot be computed; the exception that says why is its cause."""


class CollectionMerger:
    """A collection merger keeps the windows of one collection, and publishes their answers.

    merge: its windows.
    committed: the last commit of the place from which they can be rebuilt; None before the first.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        settings: Settings,
        producer: Producer,
        writer: ExclusiveWriter,
        cluster: Cluster,
        solver: Solver,
        metrics: Metrics,
    ) -> None:
        """Prepare for a collection.

        writer: writes its final answers.
        """
        self._collection = collection
        self._settings = settings
        self._names = settings.topic_names
        self._producer = producer
        self._cluster = cluster
        self._solver = solver
        self._metrics = metrics
        self._writer = writer
        self._region_waits = settings.region_waits
        self._commit_looked_at = -math.inf
        # Whether something has come since the place of the last commit was compared with the present one.
        self._moved = False
        # Records that came while it was being rebuilt: each partition is applied in the order of its log.
        self._waiting: deque[LogEntry] = deque()
        self._wake = asyncio.Event()
        self._letters: list[Record] = []
        self._refusals = RejectionLog(collection.name, one="a partial", many="partials")
        # After what the windows are being rebuilt again, as `repr` writes it; empty at the first try.
        self._failed = ""
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.merge = Merge(self._collection, partitions=0, regions=self._settings.region_names)
        self._regions = RegionWaits(self.merge, self._region_waits)
        self._without: list[str] = []
        self.committed: MergeCheckpoint | None = None
        self._quarantine = Quarantine(self._collection)
        settings, metrics = self._settings, self._metrics
        self._finals = Finals(self.merge, self._quarantine, settings=settings, writer=self._writer, metrics=metrics)
        self._holding = Holding(
            self.merge, self._quarantine, cluster=self._cluster, settings=settings, metrics=metrics.merge
        )
        self._standstill = Standstill(self.merge, settings=settings)
        # Since when the final that is due next is being solved and published.
        self._due_since: float | None = None
        self._rebuilt = False
        # Whether the reports topic is another one by now.
        self._outdated = False
        self._former: dict[TopicIdentity, None] = {}
        self._heard_at = self._unsolved_at = -math.inf
        # Offset of the newest record of the partials topic that has been applied, and when the newest partials came.
        self._applied, self._flushed_at = 0, -math.inf

    def problems(self) -> list[str]:
        """Say why it is not ready; empty when it is."""
        name, found = self._collection.name, []
        if not self._rebuilt:
            again = f" again, after: {self._failed}" if self._failed else ""
            found.append(f"{name}: rebuilding its windows{again}")
        found += [*self._holding.problems, *self._standstill.problems]
        late = 0.0 if self._due_since is None else time.monotonic() - self._due_since
        if late > LATE_SECONDS:
            found.append(f"{name}: a final answer has been due for {late:.0f} s")
        return found

    @property
    def standstill(self) -> Standstill | None:
        """What compares its windows with what workers have counted; None while they are rebuilt."""
        return self._standstill if self._rebuilt else None

    async def apply(self, entry: LogEntry) -> None:
        """Apply one record of the partials topic; one that cannot be read is passed over, and dead-lettered.

        Raises:
            KafkaError, TimeoutError: the brokers have not answered for as long as an outage may last.
        """
        if self._rebuilt and not self._outdated:
            await self._take(entry)
        else:
            self._waiting.append(entry)

    async def run(self, *, stopping: Callable[[], bool]) -> None:
        """Rebuild the windows, then publish their answers until it is cancelled or `stopping` is true.

        A window that is being solved when it ends is solved again by the next owner. If the reports topic has been
        deleted and made again, the windows are rebuilt, since its number of partitions may be less.
        """
        try:
            while not stopping():
                await self._work(stopping=stopping)
                await self._finals.stop()
        finally:
            await self._finals.stop()
            await self._publish_letters()

    async def _work(self, *, stopping: Callable[[], bool]) -> None:
        """Rebuild the windows and publish their answers, until the reports topic is another one."""
        await patiently(self._rebuild, seconds=self._settings.outage_seconds, waiting=self._note_failure)
        self._failed = ""
        while self._waiting:
            await self._take(self._waiting.popleft())
        self._rebuilt = True
        await self._follow_up()
        series = self._collection.series
        provisionals = [Provisionals(self.merge, each, now=time.monotonic()) for each in series]
        while not (stopping() or self._outdated):
            await self._turn(provisionals)

    async def _turn(self, provisionals: list[Provisionals]) -> None:
        """Do what is to be done next, or wait until there is something."""
        self._wake.clear()
        await self._publish_letters()
        await self._look_at_regions()
        held = await self._holding.look()
        if held and not self._quarantine.holding(self.merge):
            held = time.monotonic() < self._unsolved_at + UNSOLVED_SECONDS
        if not self.merge.refresh():
            await asyncio.sleep(0)
        elif not held and (step := MergeStep.due(self.merge)) is not None:
            self._due_since = time.monotonic()
            try:
                records = await self._publish_final(step)
            except _CannotSolve as error:
                self._hold(step, error)
                return
            finally:
                self._due_since = None
            self._quarantine.go_on()
            await self._publish_records(records)
            await self._tidy_up()
        elif not await self._publish_provisional(provisionals):
            if not held:
                await self._tidy_up()
            now = time.monotonic()
            waits = [COMMIT_SECONDS] if self._moved else []
            if (sum_due := self._refusals.look(now=now)) is not None:
                waits.append(sum_due)
            if self._region_waits:
                waits.append(REGION_SECONDS)
            waits += [
                max(0.0, provisional.due_at - now) for provisional in provisionals if provisional.due_at is not None
            ]
            if held:
                waits.append(self._holding.release_seconds)
            await self._pause(min(waits, default=None))

    async def _pause(self, seconds: float | None) -> None:
        # `asyncio.wait_for` of Python 3.11 swallows a cancellation that comes together with what it waits for: a
        # merger that has given up its windows would go on.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _look_at_regions(self) -> None:
        """Let windows go on without regions that they have waited for long enough: the record says so to all."""
        if not self._region_waits:
            return
        name, metrics = self._collection.name, self._metrics.merge
        decided = self._regions.due(now=time.monotonic(), now_ms=time.time_ns() // 1_000_000)
        if decided:
            place = partition_of(name, partitions=self._settings.partials_partitions)
            await self._producer.publish(
                Record(topic=self._names.partials, key=key, value=value, partition=place, headers=each.headers)
                for each in decided
                for key, value in [encode(each, writer="")]
            )
        without = self._regions.cut_off
        for region in set(without) - set(self._without):
            log.warning(
                "%s: windows go on without region %s, which is behind the others; its reports to them are late",
                *(name, region),
                extra={"collection": name, "region": region},
            )
        for region in set(self._without) - set(without):
            log.info("%s: region %s is heard of again", name, region, extra={"collection": name, "region": region})
        self._without = without
        for region in self._region_waits:
            metrics.region_cut_off.labels(name, region).set(region in without)
        for region, lag_ms in self._regions.lag_ms.items():
            metrics.region_lag.labels(name, region).set(lag_ms / 1_000)

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await patiently(ask, seconds=self._settings.outage_seconds)

    def _note_failure(self, error: Exception) -> None:
        """Say why the windows cannot be rebuilt yet: nothing else does before an outage has lasted too long."""
        if repr(error) != self._failed:
            log.warning("%s: its windows are rebuilt again, after: %r", self._collection.name, error)
        self._failed = repr(error)

    # Reading.

    async def _rebuild(self) -> None:
        """Rebuild the state from the log, as far as it is needed: the final answers, then the partials."""
        began = time.monotonic()
        name = self._collection.name
        # A try that an outage has ended may have been about a topic of more partitions, whose windows wait forever.
        self._begin_anew()
        # Before the log is read: of what joins later, a watermark says so.
        self.merge.widen(await self._reports_topic())
        begin = await last_merge(self._cluster, self._settings, self._collection)
        if begin is not None:
            self.merge.resume(begin)
            self._finals.begin(begin.answers, read_to=begin.answers_end)
        await self._finals.read()
        number = 0
        async for entry in partials_log(name, settings=self._settings, begin=0 if begin is None else begin.partials):
            number += 1
            await self._fold(entry)
        await self._holding.release()
        took = time.monotonic() - began
        self._metrics.merge.rebuild_duration.labels(name).observe(took)
        log.info("%s: windows rebuilt from %d partials in %.1f s", name, number, took)

    async def _take(self, entry: LogEntry) -> None:
        """Apply a record that has just been written; see `apply`."""
        late = dict(self.merge.late.reports)
        unread = await self._fold(entry)
        self._wake.set()
        for region, reports in self.merge.late.reports.items():
            if more := reports - late.get(region, 0):
                self._metrics.merge.region_reports_late.labels(self._collection.name, region).inc(more)
        if unread is None:
            return
        name = self._collection.name
        self._metrics.records_passed_over.labels(name, "partials").inc()
        refused = Refused(topic=entry.topic, partition=entry.partition, offset=entry.offset, value=entry.value)
        why = Rejected(Reason.UNREADABLE_RECORD, unread.why)
        self._refusals.add(refused, why, now=time.monotonic())
        topic = self._names.dead_letters(name)
        self._letters.append(dead_letter(refused, why, collection=self._collection, topic=topic))
        # All of a turn are written at once: a wait for each would hold up the partials of all collections.
        if len(self._letters) >= MAX_LETTERS or len(self._letters[-1].value) >= LARGE_LETTER_BYTES:
            await self._publish_letters()

    async def _publish_letters(self) -> None:
        letters, self._letters = self._letters, []
        if letters:
            await self._producer.publish(letters)

    async def _fold(self, entry: LogEntry) -> Unread | None:
        """Apply a record; return it if it cannot be read."""
        watermark = entry.watermark_of(self.merge.fingerprint)
        if watermark is None:
            self._flushed_at = time.monotonic()
        elif watermark.region == self._settings.region:
            await self._hear_of(watermark.topic)
        self._applied = max(self._applied, entry.offset)
        self._moved = True
        return self._quarantine.apply(self.merge, entry)

    async def _hear_of(self, topic: TopicIdentity) -> None:
        """Take note of a form of the reports topic that a watermark names, before anything else is closed.

        The brokers have the last word: the record may be of a topic that has been deleted, and nobody may make the
        merge wait for partitions that there are not.
        """
        if topic in self._former or (
            topic.id in ("", self.merge.topic.id) and topic.partitions <= self.merge.partitions
        ):
            return
        # One wait a minute: records that nobody has written might name a different number each.
        until = time.monotonic()
        if until > self._heard_at + HEARSAY_PAUSE_SECONDS:
            self._heard_at, until = until, until + HEARSAY_SECONDS
        while True:
            now = await self._patiently(self._reports_topic)
            if now.id != self.merge.topic.id:
                self._outdated = True
                return
            if topic.id != now.id or topic.partitions <= now.partitions or time.monotonic() > until:
                break
            await asyncio.sleep(HEARSAY_WAIT_SECONDS)
        if now.partitions > self.merge.partitions:
            log.warning(
                "%s: its reports topic has %d partitions, and had %d: windows that are open wait for all of them",
                *(self._collection.name, now.partitions, self.merge.partitions),
            )
            self.merge.widen(now)
        if topic.id == now.id and topic.partitions > now.partitions:
            return  # The brokers may hear of them later: the next record asks again.
        self._former[topic] = None
        for oldest in list(self._former)[:-MAX_FORMER]:
            del self._former[oldest]

    async def _reports_topic(self) -> TopicIdentity:
        """Return the reports topic as it is now.

        Raises:
            KafkaError: the brokers cannot be asked, or know no such topic.
        """
        name = self._names.reports(self._collection.name)
        topics = await self._cluster.identities([name])
        if name not in topics:
            raise UnknownTopicOrPartitionError(name)
        return topics[name]

    async def _tidy_up(self) -> None:
        """Forget what no window needs; commit, now and then, from where the windows can be rebuilt."""
        self.merge.forget()
        if time.monotonic() < self._commit_looked_at + COMMIT_SECONDS:
            return
        self._commit_looked_at = time.monotonic()
        self._moved = False
        checkpoint = self._quarantine.bound(self.merge.checkpoint)
        if checkpoint is None or checkpoint == self.committed:
            return
        await self._patiently(lambda: commit_merge(self._cluster, self._settings, self._collection, checkpoint))
        self.committed = checkpoint

    # Publishing.

    async def _solve(self, step: MergeStep) -> Answer:
        task = step.task
        with span("solve", collection=self._collection.name, series=task.series.name, reports=task.reports):
            solved = await self._computed(self._solver.work(self._collection, task, step.solve), task)
        self._observe_fit(solved.made)
        return solved.made

    def _observe_fit(self, answer: Answer) -> None:
        name, fit_of = self._collection.name, kind_of(self._collection).fit
        if fit_of is not None and answer.status is Status.ANSWERED:
            fit = fit_of(answer)
            self._metrics.merge.em_iterations.labels(name).observe(fit.iterations)
            self._metrics.merge.em_starts.labels(name, fit.start).inc()
            self._metrics.merge.estimates_certified.labels(name, str(fit.certified).lower()).inc()

    async def _computed(self, work: Awaitable[T], task: WindowTask[Any, Any]) -> T:
        """Wait for what is computed of a window.

        Whatever is wrong, it is wrong with what is on the log, and may be wrong again wherever that is read.

        Raises:
            _CannotSolve: it raised.
        """
        try:
            return await work
        except Exception as error:
            raise self._failure(error, task) from error

    def _failure(self, error: Exception, task: WindowTask[Any, Any]) -> _CannotSolve:
        """Count what was raised where something of a window was computed, and wrap it."""
        self._metrics.solve.solve_failures.labels(self._collection.name, type(error).__name__).inc()
        failure = _CannotSolve(f"{task.series.name} of the window of {task.window_ms} ms")
        failure.__cause__ = error
        return failure

    def _unsolved(self, task: WindowTask[Any, Any], error: _CannotSolve) -> Unsolved:
        start_ms = task.window_ms
        newest = self.merge.newest_offset(start_ms)
        return Unsolved(
            topic=self._names.partials,
            # A silent window has no record: it is released with all that there is now.
            offset=self._applied if newest < 0 else newest,
            series=task.series.name,
            window=WindowBounds(start_ms=start_ms, end_ms=start_ms + self._collection.window.size_ms),
            error=type(error.__cause__).__name__,
        )

    def _hold(self, step: MergeStep, error: _CannotSolve) -> None:
        """Hold the finals back at a window that cannot be solved, or pass over it if an operator has released it."""
        unsolved = self._unsolved(step.task, error)
        self._unsolved_at = time.monotonic()
        log.error("%s: cannot be computed: %s", self._collection.name, unsolved, exc_info=error.__cause__)
        if not self._quarantine.add_unsolved(unsolved):
            log.warning("%s: released, and passed over: %s", self._collection.name, unsolved)
            step.skip(self.merge)

    async def _publish_final(self, step: MergeStep) -> WindowRecords | None:
        """Publish the final of a step, unless it is withheld, or another worker has published it.

        Returns:
            The records that are published after it.
        """
        if await self._computed(asyncio.to_thread(step.is_withheld), step.task):
            self._withhold(step)
            return None
        series = step.task.series
        with span("answer", root=True, collection=self._collection.name, series=series.name):
            answer = await self._solve(step)
            offset = await self._finals.publish_once(series, answer)
        if offset is None:
            await self._follow_up()
            return None
        await self._ask_next(answer)
        await self._publish_rows(answer)
        records = step.decide(self.merge, answer, offset=offset)
        self._tell_of(answer, step)
        return records

    def _withhold(self, step: MergeStep) -> None:
        name, series = self._collection.name, step.task.series.name
        log.info(
            "%s/%s: nothing is published of a window of fewer than %d users",
            name,
            series,
            self._collection.floor,
        )
        self._metrics.merge.windows_withheld.labels(name).inc()
        self._metrics.merge.epochs_without_result.labels(name).inc(step.epochs)
        step.skip(self.merge)

    def _tell_of(self, final: Answer, step: MergeStep) -> None:
        """Log and count a final answer that has been published."""
        name, reports = self._collection.name, step.task.reports
        if final.status is Status.NO_REPORTS:
            self._metrics.merge.windows_silent.labels(name).inc()
            self._metrics.merge.epochs_without_result.labels(name).inc(step.epochs)
            log.warning("%s/%s: nobody reported in %s", name, final.series, final.window)
            return
        if final.plausibility is not None:
            self._metrics.merge.window_plausibility.labels(name, final.series).set(final.plausibility.statistic)
            if final.plausibility.flagged:
                self._metrics.merge.windows_implausible.labels(name).inc()
                log.warning(
                    "%s/%s: the reports of the window of %s do not look honest", name, final.series, final.window
                )
        closed_s = max(0.0, time.time() - final.window.end_ms / 1_000)
        self._metrics.merge.window_close_delay.labels(name).observe(closed_s)
        self._metrics.merge.last_final.labels(name).set_to_current_time()
        log.info(
            "%s/%s: final answer of %s, from %d reports, %.1f s after its end",
            *(name, final.series, final.window, reports, closed_s),
            extra={
                "collection": name,
                "series": final.series,
                "window": str(final.window),
                "reports": reports,
                "delay_seconds": round(closed_s, 3),
            },
        )

    async def _publish_provisional(self, provisionals: list[Provisionals]) -> bool:
        """Publish provisional answers that are due, but of too few users; note those that are left out.

        Returns:
            Whether one was due, so that there may be another.
        """
        due = self._due_provisionals(provisionals)
        if not due:
            return False
        name = self._collection.name
        tasks = [task for _, task in due]
        series = ", ".join(task.series.name for task in tasks)
        with span("solve", collection=name, series=series, reports=sum(task.reports for task in tasks)):
            found = await self._solver.work_together(
                self._collection,
                [(task, MergeStep(collection=self._collection, task=task).solve_unless_withheld) for task in tasks],
            )
        answers = []
        for (provisional, task), solved in zip(due, found, strict=True):
            seconds = 0.0
            if isinstance(solved, Exception):
                # Its final, if that cannot be computed either, says so until somebody looks at it.
                log.warning("%s: cannot be computed: %s", name, self._unsolved(task, self._failure(solved, task)))
            elif solved.made is not None:
                seconds = solved.seconds
                answers.append(solved.made)
                self._observe_fit(solved.made)
            provisional.answer(task, seconds=seconds, now=time.monotonic())
        await asyncio.gather(*(self._finals.publish_provisional(answer, self._producer) for answer in answers))
        return True

    def _due_provisionals(self, provisionals: list[Provisionals]) -> list[tuple[Provisionals, WindowTask[Any, Any]]]:
        """List the tasks that are due, and that are solved within a moment, or one that takes longer."""
        name, seconds = self._collection.name, 0.0
        due: list[tuple[Provisionals, WindowTask[Any, Any]]] = []
        for provisional in provisionals:
            if due and seconds + provisional.seconds > TOGETHER_SECONDS:
                continue
            before = provisional.skipped
            task = provisional.next(now=time.monotonic(), flushed_at=self._flushed_at)
            if provisional.skipped > before:
                self._metrics.merge.provisionals_skipped.labels(name).inc(provisional.skipped - before)
                if not before:
                    log.warning(
                        "%s/%s: provisional answers are skipped, as their solves take more than %.0f %% of `every`, "
                        "%g s: make it longer, or ask for fewer cells",
                        *(name, provisional.series.name, 100 * SHARE, provisional.series.every_ms / 1_000),
                    )
            if task is not None:
                due.append((provisional, task))
                seconds += provisional.seconds
        return due

    async def _follow_up(self) -> None:
        """Publish what follows from the newest finals on the log; their publisher may have died before."""
        decided = self.merge.decided
        for answer in decided:
            await self._ask_next(answer)
            await self._publish_rows(answer)
        # A window that is forgotten has its records: they are published before it is.
        if decided and self.merge.holds(decided[-1].window.start_ms):
            try:
                records = window_records(self.merge, decided[-1])
            except Exception:
                # As in `_computed`: another has written the final, and it may be about anything.
                log.exception("%s: no records are made of %s", self._collection.name, decided[-1].window)
            else:
                await self._publish_records(records)

    async def _ask_next(self, answer: Answer) -> None:
        """Publish the round that follows from a final answer, if there is one."""
        name = self._collection.name
        if (asked := next_round(self._collection, answer)) is not None:
            self.merge.expect(asked.layout)
            await self._producer.publish([Record.of(asked.message, topic=self._names.rounds(name))])
            self._metrics.merge.rounds_published.labels(name).inc()

    async def _publish_rows(self, answer: Answer) -> None:
        """Publish a final answer as rows, if the collection asks for them: a repeat has the same keys and content."""
        if not self._collection.rows:
            return
        topic = self._names.rows(self._collection)

        def made() -> list[Record]:
            return [
                Record.of(row, topic=topic)
                for row in published_rows(answer, self._collection.rows, labels=self._collection.labels)
            ]

        try:
            records = await asyncio.to_thread(made)
        except Exception:
            # As in `_computed`: another may have written the final, and it may be about anything.
            log.exception("%s: no rows are made of %s", self._collection.name, answer.window)
            return
        for begin in range(0, len(records), ROWS_AT_ONCE):
            await self._producer.publish(records[begin : begin + ROWS_AT_ONCE])

    async def _publish_records(self, records: WindowRecords | None) -> None:
        """Publish the synthetic records of a window with its first final, if the collection asks for some.

        They are published after the final, which they would hold up, and before the merge forgets the window. After
        a start those of the last window are published again unless it is forgotten, since an earlier owner may have
        died before: they have the same keys and the same content.
        """
        if records is None:
            return
        name, window = self._collection.name, records.final.window
        if not records.are_due:
            counted, reported = (sum(each.reports_by_window) for each in (records.task, records.estimated))
            log.info(
                "%s: no records are made of %s: %d of %d reports are counted for them",
                *(name, window, counted, reported),
            )
            return
        topic = self._names.records(name)

        def chunks() -> list[Record]:
            return [Record.of(each, topic=topic) for each in records.chunks()]

        try:
            work = self._solver.work(self._collection, records.task, chunks)
            made = await self._computed(work, records.task)
        except _CannotSolve as error:
            log.exception("%s: no records are made of %s", name, window, exc_info=error.__cause__)
            return
        await self._producer.publish(made.made)
        self._metrics.merge.synthetic_records_published.labels(name).inc(records.spec.records)
