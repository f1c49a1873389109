"""Ingest one collection's reports topic: count batches by partition, and flush partials in order.

The order of a flush is what makes a crash harmless:

1. send the partials that changed, what is saved of open windows now and then, and the dead letters;
2. wait until every one is acknowledged;
3. commit: the offset is that of the first report of the oldest open pane; the metadata holds the position of the
   reader and the watermark. The group coordinator refuses a worker that no longer owns the partition;
4. only then send the watermark, which lets the merge close windows.

A worker that lost its partitions may repeat partials, which is harmless, and can close nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import TYPE_CHECKING

from aiokafka.errors import KafkaError

from stream_ldp.kafka.cluster import Cluster, ClusterError, NoCoordinator
from stream_ldp.kafka.patience import WAITED, passes, patiently
from stream_ldp.kafka.producer import Record
from stream_ldp.kafka.round_log import RoundLog
from stream_ldp.kafka.tracing import links_of, span
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.pipeline.statistics.sending import (
    LARGE_BYTES_A_SECOND,
    PATIENCE,
    Room,
    flush_seconds,
    look_seconds,
)
from stream_ldp.service.dead_letters import dead_letter, refused_of
from stream_ldp.service.joining import Joining
from stream_ldp.service.ownership import Ownership
from stream_ldp.service.part import Part
from stream_ldp.service.rejection_log import SUM_SECONDS, RejectionLog
from stream_ldp.service.topics_watch import TopicsWatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from aiokafka import TopicPartition
    from aiokafka.admin import AIOKafkaAdminClient

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.columns import Columns
    from stream_ldp.kafka.producer import Producer
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.retirement import Retirement
    from stream_ldp.pipeline.saved_panes import Saved
    from stream_ldp.pipeline.source_partition import Changes
    from stream_ldp.service.metrics import Metrics
    from stream_ldp.service.reports_group import ReportsGroup

log = logging.getLogger(__name__)

#: Longest wait for records, in milliseconds, by which the notice of an idle partition can be late.
POLL_MS = 250

#: Longest wait for records of a collection that nobody reports to, in milliseconds, and where the worker has many,
#: for each of them; what is said of its topics may be as old. So the number of such turns a second has a limit.
QUIET_MS, QUIET_EACH_MS = 20_000, 200

#: Milliseconds of a turn, beside its wait for records, that count as silence of producers: longer than it takes to
#: ask and to flush, and too short for a worker that was suspended to take its own absence for theirs.
TURN_MS = 1_000

#: The most records of one turn. Ten times as many kept the event loop busy, and all else on it waiting, for 400 ms.
MAX_RECORDS = 2_000

#: Seconds before a look at which reports are fetched for it, unless a partition is behind: what comes sooner would
#: wait here for the look, and each turn and fetch takes as long as many reports. Brokers answer within it.
FETCH_SECONDS = 0.025

#: Most records that gather for one look, and those that are counted in a second: they are fetched as long before the
#: look as that takes. What is not counted by then waits for the next flush.
GATHERED_RECORDS, COUNTED_A_SECOND = 20_000, 200_000

#: Most bytes of statistics in memory, some milliseconds of work, that are copied or encoded on the event loop, and
#: most open panes: a partition that has been behind has a day of them, whose statistics have yet to be made.
INLINE_BYTES, INLINE_PANES = 2**20, 64

#: Bytes of a dead letter beside the refused record itself.
LETTER_BYTES = 1_024

#: Seconds between two requests to the broker for the ends of partitions, which also show that it is there.
CHECK_SECONDS = 1.0

#: Seconds to wait for the response. The loop goes on turning meanwhile only if it waits no longer than this, and a
#: rebalance waits as long.
ANSWER_SECONDS = 3.0

#: Requests in a row without a response after which the brokers count as absent, and the worker is not ready.
UNANSWERED_CHECKS = 3
UNANSWERED_SECONDS = UNANSWERED_CHECKS * (CHECK_SECONDS + ANSWER_SECONDS)

#: Seconds in which nothing of what waits has been read, after which the worker is not ready. The fetch that comes
#: first after an outage takes a request's timeout at most, but for frozen brokers, which are reported by themselves.
STANDSTILL_SECONDS = 60.0


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Ingest(Part):
    """An ingest counts the reports of one collection, in the partitions that the group assigns to this worker."""

    def __init__(
        self,
        collection: Collection,
        *,
        settings: Settings,
        admin: AIOKafkaAdminClient,
        producer: Producer,
        reports: ReportsGroup,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = _now_ms,
        retirement: Retirement | None = None,
        is_current: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """Prepare for one collection.

        reports: the group that counts it.
        retirement, is_current: see `Ownership`.
        clock: monotonic time, in seconds.
        now_ms: time of day, in milliseconds since 1970-01-01 UTC.
        """
        super().__init__()
        names = settings.topic_names
        self.collection = collection
        self._topic = names.reports(collection.name)
        self._dead_letters_topic = names.dead_letters(collection.name)
        self._partials_topic = names.partials
        self._partials_partition = partials.partition_of(collection.name, partitions=settings.partials_partitions)
        self._producer = producer
        self._metrics = metrics.ingest
        self._clock = clock
        self._kind = kind_of(collection)
        self._cluster = Cluster(admin)
        self._rounds = (
            RoundLog(
                collection,
                self._kind.rounds,
                topic=names.rounds(collection.name),
                settings=settings,
                pass_over=metrics.records_passed_over.labels(collection.name, "rounds").inc,
            )
            if self._kind.rounds is not None
            else None
        )
        joining = Joining(collection, settings=settings, cluster=self._cluster, producer=producer)
        self._ownership = Ownership(
            collection,
            settings=settings,
            cluster=self._cluster,
            joining=joining,
            reports=reports,
            metrics=metrics.ingest,
            now_ms=now_ms,
            retirement=retirement,
            is_current=is_current,
            layouts=None if self._rounds is None else self._rounds.layouts,
        )
        self._topics = TopicsWatch(
            follows=[self._topic, self._dead_letters_topic],
            others=[
                self._partials_topic,
                names.answers(collection),
                *([] if self._kind.rounds is None else [names.rounds(collection.name)]),
            ],
            flags=settings.flags(),
        )
        # That it owns no partition although there are enough for all members of its group; empty if it is not so.
        self._unused = ""
        self._look_seconds, self._flush_seconds = look_seconds(collection.series), flush_seconds(collection.series)
        # Seconds from the last look to the next one, and records of reports since the last look.
        self._until_look, self._counted = self._look_seconds, 0
        self._rejections = RejectionLog(collection.name)
        self._outage_seconds = settings.outage_seconds
        self._running = False
        # For so long, the present turn waits for records at most.
        self._waits_seconds = 0.0
        # Milliseconds in which nothing changes unless a record comes; flushes in a row that had no counts to write.
        self._rest_ms, self._unchanged = 0.0, 0
        # At the last look at the topic: the own partitions, and the number of those that other workers own.
        self._looked_at: set[TopicPartition] = set()
        self._others = 0
        # Looks in a row that had no answer in time.
        self._unanswered = 0
        self._finished = asyncio.Event()
        self._asking_since: float | None = None
        # Of the dead letters since the last flush. A flood of junk would fill the memory between two flushes.
        self._waiting_bytes = 0
        self._max_waiting_bytes = settings.max_dead_letter_bytes
        self._flood_logged_at = -math.inf
        # The lag and the places of reading, and when they were last seen to make progress.
        self._seen = 0, 0
        self._progressed_at = clock()
        self._turned_at = self._listened_at = self._checked_at = self._answered_at = clock()
        # The partition whose large statistics come first in the next flush.
        self._first: TopicPartition | None = None
        # The last look at whether to flush, and the last flush.
        self._decided_at = self._flushed_at = clock()

    def problems(self) -> list[str]:
        """Say why the ingest is not ready; empty when it is."""
        if self._topics.problems:
            return [f"{self.collection.name}: {problem}" for problem in self._topics.problems]
        if not self._ownership.joined:
            return [f"{self.collection.name}: waiting for partitions of {self._topic}"]
        unanswered = max(self._clock() - self._answered_at, self.seconds_asking)
        if unanswered > UNANSWERED_SECONDS + self._wait_ms / 1_000:
            return [f"{self.collection.name}: the brokers of {self._topic} have not answered for {unanswered:.0f} s"]
        if waiting := self._ownership.waiting:
            numbers = ", ".join(map(str, waiting))
            return [f"{self.collection.name}: partitions {numbers} of {self._topic} are to be taken over"]
        if self._unused:
            return [self._unused]
        unread, standstill = self._seen[0], self._clock() - self._progressed_at
        if unread and standstill > STANDSTILL_SECONDS:
            return [f"{self.collection.name}: {unread} records wait, and none has been read for {standstill:.0f} s"]
        replaying = sum(owned.state.replaying for owned in self._ownership.partitions.values())
        return [f"{self.collection.name}: {replaying} partitions are reading open windows again"] if replaying else []

    @property
    def seconds_asking(self) -> float:
        """Seconds for which it has been waiting for brokers; 0 if it does something else."""
        return 0.0 if self._asking_since is None else self._clock() - self._asking_since

    @property
    def seconds_overdue(self) -> float:
        """Seconds since the last turn or call of `begin`, beyond those for which it waits for records."""
        return max(0.0, self._clock() - self._turned_at - self._waits_seconds)

    def begin(self) -> None:
        """Count the seconds since the last turn from now on: joining a group may take long."""
        self._turned_at = self._listened_at = self._clock()

    async def on_start(self) -> None:
        """Join the group."""
        if self._rounds is not None:
            await patiently(self._rounds.start, seconds=self._outage_seconds)
        await patiently(self._ownership.start, seconds=self._outage_seconds)

    async def on_stop(self) -> None:
        """Leave the group, after the last flush."""
        if self._running:
            self._ownership.wake()
            await self._finished.wait()
        await self._ownership.stop()
        if self._rounds is not None:
            await self._rounds.stop()

    @Part.task
    async def _run(self) -> None:
        self._running = True
        try:
            while not self.should_stop:
                await self.turn()
            async with self._ownership.lock:
                await self._ownership.work(self._flush())
        finally:
            self._finished.set()

    async def turn(self) -> None:
        """Read once and count; when they are due, check for silent partitions and flush.

        Raises:
            ReportsLost: retention has deleted the reports that are next.
            KafkaError, TimeoutError: the brokers have not answered for as long as an outage may last.
        """
        wait_ms = self._wait_ms
        self._waits_seconds = wait_ms / 1_000
        fetched = await self._ownership.fetch(timeout_ms=wait_ms, max_records=MAX_RECORDS)
        # From fetch to fetch, since a busy worker hardly waits; never more, since a stopped one has not listened.
        now = self._clock()
        passed_ms = min(1_000 * (now - self._listened_at), wait_ms + TURN_MS)
        self._listened_at = now
        if fetched:
            self._rest_ms = 0.0
        async with self._ownership.lock:
            self._asking_since = self._clock()
            try:
                await self._ownership.work(self._process(fetched, passed_ms))
            finally:
                self._asking_since = None
        self._rejections.look(now=self._clock())
        self._observe()
        self._turned_at = self._clock()

    @property
    def _wait_ms(self) -> int:
        """Milliseconds that a turn waits for records at most: a look must not wait for those that do not come."""
        if self._rest_ms > POLL_MS:
            return math.ceil(self._rest_ms)
        left_ms = max(1, round(1_000 * (self._decided_at + self._until_look - self._clock())))
        return left_ms if self._until_look > self._look_seconds else min(left_ms, POLL_MS)

    async def _process(self, fetched: Mapping[TopicPartition, Columns], passed_ms: float) -> None:
        """Do all of a turn that waits for brokers, which ends by itself when an outage lasts too long."""
        partitions = self._ownership.partitions
        known = partitions.copy()
        try:
            await self._ownership.take_over()
            for partition, records in fetched.items():
                # Records that were fetched before a partition was taken over may be of an earlier generation.
                if partitions.get(partition) is known.get(partition):
                    about = {"collection": self.collection.name, "partition": partition.partition}
                    with span("count", links=links_of(records.headed), batches=len(records), **about):
                        await self._count(partition, records)
        except (KafkaError, NoCoordinator) as error:
            self._tolerate(error)
            self._ownership.read_again()
        idle = [
            partition
            for partition, owned in partitions.items()
            if (partition not in fetched or owned.state.finished) and owned.state.observe_silence(passed_ms)
        ]
        if self._clock() >= self._checked_at + CHECK_SECONDS:
            await self._check_broker(idle)
        flooded = self._waiting_bytes > self._max_waiting_bytes
        if flooded:
            self._note_flood()
        now = self._clock()
        if flooded or now >= self._decided_at + self._until_look:
            # As many as come in a usual time between two looks.
            self._counted = round(
                self._counted * self._look_seconds / max(now - self._decided_at, self._look_seconds)
            )
            self._decided_at = now
            due = flooded or self._is_flush_due()
            self._until_look = self._seconds_until_look(due=due, idle=bool(idle))
            coming = self._counted * self._until_look / self._look_seconds
            lead = FETCH_SECONDS + min(coming / COUNTED_A_SECOND, self._until_look / 2)
            self._ownership.gather(seconds=self._until_look - lead, period=self._until_look)
            self._counted = 0
            if due:
                await self._flush()
                self._rest_ms = self._may_rest_ms()

    def _seconds_until_look(self, *, due: bool, idle: bool) -> float:
        """Return the seconds until the next look: until the next flush, if nothing can be due before.

        due: whether this look flushes.
        idle: whether some partition is idle, which may follow those of other workers.
        """
        states = [owned.state for owned in self._ownership.partitions.values()]
        quiet = (
            states
            and not self._ownership.waiting
            and not self._unchanged
            and not (idle and self._others)
            and (due or not any(state.hurries for state in states))
            and len({state.panes_closed for state in states}) == 1
        )
        if not quiet:
            return self._look_seconds
        # What has come since the last look may have waited for as long.
        settled_seconds = min(state.settled_ms for state in states) / 1_000 - self._until_look
        flush_at = (self._decided_at if due else self._flushed_at) + self._flush_seconds
        looks = min(
            int(settled_seconds / self._look_seconds),
            round((flush_at - self._decided_at) / self._look_seconds),
            GATHERED_RECORDS // max(1, self._counted),
        )
        return max(1, looks) * self._look_seconds

    def _is_flush_due(self) -> bool:
        """Decide whether to flush now: what comes steadily gathers until somebody can see it."""
        return (
            self._unchanged > 0
            or self._clock() >= self._flushed_at + self._flush_seconds - self._look_seconds / 2
            or any(owned.state.hurries for owned in self._ownership.partitions.values())
        )

    def _may_rest_ms(self) -> float:
        """Return for how many milliseconds nothing is to be written or watched unless a record comes."""
        states = [owned.state for owned in self._ownership.partitions.values()]
        looked = self._answered_at >= self._checked_at and self._looked_at == self._ownership.partitions.keys()
        if self._ownership.waiting or not looked:
            return 0.0
        # A large statistic of an open pane may wait for some flushes until it is sent.
        if self._unchanged <= PATIENCE and any(state.open_panes for state in states):
            return 0.0
        idle_ms = self.collection.window.idle_timeout_ms
        if idle_ms is not None and len({state.panes_closed for state in states}) > 1:
            return 0.0  # Those that are behind follow the others as soon as they are idle.
        longest_ms = QUIET_MS if self._others else max(QUIET_MS, QUIET_EACH_MS * self._ownership.collections)
        rest_ms = min((state.rests_ms for state in states), default=math.inf)
        rest_ms = min(rest_ms, longest_ms)
        if self._others and idle_ms is not None and any(state.watermark_ms is not None for state in states):
            # An idle partition follows those of other workers, which are asked about at each turn.
            rest_ms = min(rest_ms, idle_ms / 2)
        return rest_ms

    async def _count(self, partition: TopicPartition, records: Columns) -> None:
        """Count the fetched records if they are the next of their partition."""
        if not await self._ownership.continues(partition, records.offsets):
            return
        owned = self._ownership.partitions[partition]
        state = owned.state
        self._counted += len(records)
        values = records.contents
        unreadable = {index: Rejected(Reason.UNREADABLE_RECORD, fault) for index, fault in records.faults.items()}
        if self._rounds is not None:
            unknown = [each for each in wire.fingerprints(values) if not state.reads(each)]
            for layout in await self._rounds.layouts(unknown) if unknown else ():
                state.learn(layout)
        counted = state.count(records.offsets, records.timestamps_ms, values, unreadable=unreadable)
        name = self.collection.name
        self._metrics.reports_counted.labels(name).inc(counted.reports)
        self._metrics.reports_duplicate.labels(name).inc(counted.duplicates)
        self._metrics.reports_late.labels(name).inc(counted.late)
        self._metrics.batches_implausible.labels(name).inc(counted.implausible)
        for refused, why in refused_of(
            partition.topic,
            partition.partition,
            records.offsets.tolist() if counted.rejected else (),
            records.values,
            counted.rejected,
        ):
            letter = dead_letter(refused, why, collection=self.collection, topic=self._dead_letters_topic)
            owned.dead_letters.append(letter)
            self._waiting_bytes += LETTER_BYTES + len(letter.value)
            self._metrics.batches_rejected.labels(name, why.reason.value).inc(refused.count)
            self._rejections.add(refused, why, now=self._clock())

    def _note_flood(self) -> None:
        """Count a flush that dead letters make come before its time, and say so now and then."""
        self._metrics.flushes_flooded.labels(self.collection.name).inc()
        if self._clock() >= self._flood_logged_at + SUM_SECONDS:
            self._flood_logged_at = self._clock()
            log.warning(
                "%s: so many batches are refused that dead letters are written before their time: more than %d bytes "
                "of them wait (max_dead_letter_bytes); see where they come from by stream-ldp dead-letters list",
                *(self.collection.name, self._max_waiting_bytes),
                extra={"collection": self.collection.name},
            )

    async def _check_broker(self, idle: Iterable[TopicPartition]) -> None:
        """Measure the lag, and advance the idle partitions that have been read to their end.

        Raises:
            KafkaError, TimeoutError: the brokers have not answered for as long as an outage may last.
        """
        partitions = self._ownership.partitions
        self._checked_at = self._clock()
        self._looked_at = set(partitions)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                topics = await self._cluster.identities(self._topics.names)
                self._topics.look(topics)
                topic = topics.get(self._topic)
                if topic is not None:
                    self._ownership.compare(topic)
                    self._others = topic.partitions - len(partitions)
                    self._unused = "" if partitions else await self._why_unused(topic.partitions)
                ends, commits = {}, {}
                if topic is not None:
                    ends = await self._ownership.ends()
                    if self._others and idle:
                        commits = await self._ownership.commits()
                    else:  # All have been committed, by this worker or by those before.
                        commits = {each: owned.state.checkpoint for each, owned in partitions.items()}
        except (KafkaError, ClusterError, TimeoutError) as error:
            self._note_no_answer(error)
            return
        # The first answer after that comes before what producers could not send meanwhile.
        settled, self._unanswered = not self._unanswered, 0
        # What the group has assigned and this worker cannot take over is an outage as well, which has an end.
        if not self._ownership.waiting:
            self._answered_at = self._clock()
        if topic is None:
            return
        for partition, owned in partitions.items():
            self._ownership.pass_marks(partition, ends[partition])
            lag = ends[partition] - owned.state.read_to
            self._metrics.consumer_lag.labels(self._topic, str(partition.partition)).set(lag)
        seen = (
            sum(ends[partition] - owned.state.read_to for partition, owned in partitions.items()),
            sum(owned.state.read_to for owned in partitions.values()),
        )
        if seen[0] == 0 or seen[1] != self._seen[1]:
            self._progressed_at = self._clock()
        self._seen = seen
        if not settled:
            return
        read = [
            partition
            for partition in partitions.keys() & set(idle)
            if partitions[partition].state.finished or ends[partition] == partitions[partition].state.read_to
        ]
        reached = {partition: checkpoint.watermark_ms for partition, checkpoint in commits.items()}
        # Twice, so that each follows all others, whose advances are committed with its own.
        for partition in [*read, *read]:
            state = partitions[partition].state
            others = [each for other, each in reached.items() if other != partition and each is not None]
            state.advance_idle(max(others, default=None))
            reached[partition] = state.advanced_ms

    def _note_no_answer(self, error: Exception) -> None:
        """Go on in spite of a look that had no answer, or none in time; see `_tolerate`."""
        self._tolerate(error)
        # What it has waited in vain is no silence of producers.
        self._listened_at = self._clock()
        self._unanswered += 1
        if isinstance(error, TimeoutError) and self._unanswered % UNANSWERED_CHECKS == 0:
            self._cluster.hang_up()
        # Nor is the absence of a broker: the idle time begins anew when it is back. One that is slow is asked again:
        # under a heavy load, hardly an idle time passes without a late answer, and no window would close.
        if not isinstance(error, TimeoutError) or self._unanswered >= UNANSWERED_CHECKS:
            for owned in self._ownership.partitions.values():
                owned.state.interrupt_silence()

    async def _why_unused(self, partitions: int) -> str:
        """Say that this worker owns no partition although there are enough; empty if there are not, or not now.

        Raises:
            KafkaError, ClusterError: the brokers cannot be asked.
        """
        if not self._ownership.joined or self._ownership.assigned:
            return ""
        members = await self._cluster.members(self._ownership.group, of=self._topic)
        if members > partitions:
            return ""
        return (
            f"{self.collection.name}: owns none of the {partitions} partitions of {self._topic}, which its group has "
            f"{members} members for"
        )

    def _tolerate(self, error: Exception) -> None:
        """Go on in spite of an error that passes with an outage; raise any other, and any once it lasts too long."""
        if isinstance(error, KafkaError) and not passes(error):
            raise error
        if self._clock() > self._answered_at + self._outage_seconds:
            error.add_note(WAITED)
            raise error
        log.debug("%s: the brokers do not answer: %r", self.collection.name, error)

    async def _flush(self) -> None:
        """Write the changes, in the order that the head of this module explains."""
        since, self._flushed_at = self._flushed_at, self._clock()
        self._waiting_bytes = 0
        partitions = self._ownership.partitions
        room = Room(nbytes=LARGE_BYTES_A_SECOND * max(self._look_seconds, self._flushed_at - since))
        # On a thread, since the loop has others; nothing is counted meanwhile.
        states = [owned.state for owned in partitions.values()]
        nbytes, panes = sum(each.nbytes for each in states), sum(each.open_panes for each in states)
        large = nbytes > INLINE_BYTES or panes > INLINE_PANES
        changes = await asyncio.to_thread(self._changes, room) if large else self._changes(room)
        if not changes:
            self._unchanged += 1
            return
        # After a claim, the limits of this worker are committed with the next flush, and hold from then on.
        self._unchanged = 0 if any(each.records for each in changes.values()) else 1
        # Steps 1 and 2: send partials, what is saved and dead letters, and wait until every one is acknowledged.
        published = await self._encoded(
            [
                (partitions[partition].writer, record)
                for partition, each in changes.items()
                for records in (each.records, each.saved)
                for record in records
            ]
        )
        await self._producer.publish(
            [*published, *(letter for partition in changes for letter in partitions[partition].dead_letters)]
        )
        self._metrics.partials_published.labels(self.collection.name).inc(
            sum(len(changed.partials) for changed in changes.values())
        )
        # Step 3: commit. A worker that is refused owns nothing any more, and must not let the merge close anything.
        if not await self._ownership.commit({each: changed.checkpoint for each, changed in changes.items()}):
            return
        for partition in changes:
            partitions[partition].dead_letters = []
        # Step 4: send the watermarks.
        await self._producer.publish(
            self._record(partitions[partition].writer, changed.watermark)
            for partition, changed in changes.items()
            if changed.watermark is not None
        )
        self._metrics.last_commit.labels(self.collection.name).set_to_current_time()

    def _changes(self, room: Room) -> dict[TopicPartition, Changes]:
        """Take the changes of the partitions; those whose large statistics get no room come first next time."""
        owned = sorted(self._ownership.partitions.items())
        first = next((place for place, (partition, _) in enumerate(owned) if partition == self._first), 0)
        self._first = None
        found: dict[TopicPartition, Changes] = {}
        for partition, each in [*owned[first:], *owned[:first]]:
            if room.nbytes <= 0 and self._first is None:
                self._first = partition
            if (changed := each.state.take_changes(room=room)) is not None:
                found[partition] = changed
        return found

    async def _encoded(self, found: Sequence[tuple[str, partials.PartialRecord | Saved]]) -> list[Record]:
        """Encode records, each with the name of its writer; large ones on a thread, since the loop has others."""

        def encode() -> list[Record]:
            return [self._record(*each) for each in found]

        large = sum(record.nbytes for _, record in found) > INLINE_BYTES
        return await asyncio.to_thread(encode) if large else encode()

    def _record(self, writer: str, record: partials.PartialRecord | partials.Watermark | Saved) -> Record:
        key, value = partials.encode(record, writer=writer)
        return Record(
            topic=self._partials_topic,
            key=key,
            value=value,
            partition=self._partials_partition,
            headers=record.headers,
        )

    def _observe(self) -> None:
        name = self.collection.name
        partitions = self._ownership.partitions
        self._metrics.panes_open.labels(name).set(sum(owned.state.open_panes for owned in partitions.values()))
        for partition, owned in partitions.items():
            if owned.state.watermark_ms is not None:
                self._metrics.watermark.labels(name, str(partition.partition)).set(owned.state.watermark_ms / 1_000)
