"""Reports in, partials out: one collection's reports topic, read in batches, counted by partition, flushed in order.

The order of a flush is what makes a crash harmless:

1. send the partials that changed, and the dead letters;
2. wait until every one is acknowledged;
3. commit: the offset is that of the first report of the oldest open pane, the metadata says how far was read and
   where the watermark stands. The group coordinator refuses a worker that no longer owns the partition;
4. only then send the watermark, which lets the merge close windows.

A worker that lost its partitions may repeat partials, which is harmless, and can close nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata
from mode import Service

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.producer import Record
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.source_partition import Checkpoint, SourcePartition
from stream_ldp.service.round_log import RoundLog
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.layout import PhaseLayout

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aiokafka import ConsumerRecord
    from aiokafka.admin import AIOKafkaAdminClient

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.producer import Publisher
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.kafka.topics import TopicNames
    from stream_ldp.pipeline.rejection import Rejected
    from stream_ldp.service.metrics import Metrics

__all__ = ["Ingest", "ReportsLost"]

log = logging.getLogger(__name__)

#: Longest wait for records, in milliseconds: how late a flush or an idle partition can be noticed.
POLL_MS = 200

#: Records of one turn. Ten times as many kept the event loop busy for 400 ms, the latency of everything else on it.
MAX_RECORDS = 2_000

#: Seconds between two flushes: a tenth of a second of work each, and well below the shortest useful `every`.
FLUSH_SECONDS = 0.5

#: Seconds between two questions to the broker: where partitions end, and whether it is there.
CHECK_SECONDS = 1.0

#: Seconds without an answer from the broker after which the worker gives up, so that whoever runs it can see it.
BROKER_LOST_SECONDS = 60.0


#: Tries, and seconds between them, while a group's coordinator moves to another broker: three seconds, what an
#: election takes, and well within the session, so that a peer is not made to wait for us.
COORDINATOR_TRIES = 10
COORDINATOR_WAIT_SECONDS = 0.3


class ReportsLost(StreamLDPError, RuntimeError):
    """Retention deleted reports before they were counted."""


class _Owned:
    """A source partition that this worker owns, with what it has yet to write."""

    def __init__(self, state: SourcePartition) -> None:
        self.state = state
        # Names this ownership in the keys of partials, so that no other's records are compacted away by ours.
        self.writer = os.urandom(4).hex()
        self.dead_letters: list[Record] = []
        # An offset that was sought and not found is a gap in the log, not a stale fetch.
        self.sought = True


class Ingest(Service):
    """Counts the reports of one collection, in the partitions that the group gives to this worker."""

    abstract = False

    def __init__(
        self,
        collection: Collection,
        *,
        names: TopicNames,
        settings: Settings,
        admin: AIOKafkaAdminClient,
        publisher: Publisher,
        metrics: Metrics,
    ) -> None:
        super().__init__()
        self.collection = collection
        self._topic = names.reports(collection.name)
        self._dead_letters_topic = names.dead_letters(collection.name)
        self._partials_topic = names.partials
        self._partials_partition = partials.partition_of(collection.name, partitions=settings.partials_partitions)
        self._group = settings.ingest_group(collection.name)
        self._settings = settings
        self._admin = admin
        self._publisher = publisher
        self._metrics = metrics
        self._owned: dict[TopicPartition, _Owned] = {}
        # Held while partitions are read, flushed or given up: a rebalance waits for a flush, so that a commit is
        # never made from counts of an earlier ownership.
        self._ownership = asyncio.Lock()
        self._consumer: Any = None
        self._rounds = (
            RoundLog(collection, topic=names.rounds(collection.name), settings=settings)
            if isinstance(collection, ItemCollection)
            else None
        )
        self._joined = False
        self._running = False
        self._finished = asyncio.Event()
        self.turned_at = self._checked_at = self._answered_at = self._flushed_at = time.monotonic()

    def problems(self) -> list[str]:
        """What keeps it from being ready."""
        if not self._joined:
            return [f"{self.collection.name}: waiting for partitions of {self._topic}"]
        replaying = sum(owned.state.replaying for owned in self._owned.values())
        return [f"{self.collection.name}: {replaying} partitions read again what was open"] if replaying else []

    async def on_start(self) -> None:
        """Join the group."""
        self._consumer = AIOKafkaConsumer(
            **self._settings.client_options(),
            group_id=self._group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=self._settings.session_timeout_ms,
            heartbeat_interval_ms=self._settings.heartbeat_interval_ms,
            rebalance_timeout_ms=self._settings.rebalance_timeout_ms,
        )
        self._consumer.subscribe([self._topic], listener=_Rebalance(self))
        if self._rounds is not None:
            await self._rounds.start()
        await self._consumer.start()

    async def on_stop(self) -> None:
        """Leave the group, after the last flush."""
        if self._running:
            await self._finished.wait()
        if self._consumer is not None:
            await self._consumer.stop()
        if self._rounds is not None:
            await self._rounds.stop()

    @Service.task
    async def _run(self) -> None:
        self._running = True
        try:
            while not self.should_stop:
                await self._turn()
            async with self._ownership:
                await self._flush()
        finally:
            self._finished.set()

    async def _turn(self) -> None:
        """Read once; count, look after silent partitions and flush as each is due."""
        fetched = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=MAX_RECORDS)
        # The whole turn counts, since a busy worker hardly waits; never more, since a stopped one has not listened.
        passed_ms = min(1_000 * (time.monotonic() - self.turned_at), 2 * POLL_MS)
        async with self._ownership:
            known = self._owned.copy()
            await self._take_over()
            for partition, records in fetched.items():
                # What was fetched before a partition was taken over may belong to an ownership before this one.
                if self._owned.get(partition) is known.get(partition):
                    await self._take(partition, records)
            idle = [
                partition
                for partition, owned in self._owned.items()
                if partition not in fetched and owned.state.observe_silence(passed_ms)
            ]
            if time.monotonic() >= self._checked_at + CHECK_SECONDS:
                await self._check_broker(idle)
            if time.monotonic() >= self._flushed_at + FLUSH_SECONDS:
                await self._flush()
        self._observe()
        self.turned_at = time.monotonic()

    async def give_up(self) -> None:
        """Forget all partitions; whoever owns them next begins at the last commit."""
        async with self._ownership:
            self._drop(list(self._owned))
            self._joined = False

    def joined(self) -> None:
        """Note that the group has given out its partitions."""
        self._joined = True
        self._metrics.rebalances.labels(self.collection.name).inc()

    async def _take_over(self) -> None:
        """Begin the partitions that are new, at their last commit."""
        if not self._joined:
            # aiokafka goes on naming the partitions of before until it has got new ones.
            return
        assigned = self._consumer.assignment()
        self._drop(self._owned.keys() - assigned)
        new = sorted(assigned - self._owned.keys())
        if not new:
            return
        commits = await self._commits()
        beginnings = await self._consumer.beginning_offsets(new)
        for partition in new:
            checkpoint, beginning = commits.get(partition), beginnings[partition]
            if checkpoint is not None and checkpoint.offset < beginning:
                self._note_lost(partition, checkpoint.offset, beginning)
                checkpoint = checkpoint.moved_to(beginning)
            state = SourcePartition(
                self.collection,
                partition=partition.partition,
                start=beginning,
                checkpoint=checkpoint,
                epoch=time.time_ns() // 1_000_000,
            )
            self._owned[partition] = _Owned(state)
            self._seek(partition, state.position)

    async def _take(self, partition: TopicPartition, records: Sequence[ConsumerRecord]) -> None:
        """Count what was fetched, if it is what comes next."""
        owned = self._owned.get(partition)
        if owned is None:
            return
        state = owned.state
        if records[0].offset != state.position:
            if not owned.sought:
                # Fetched for an ownership before this one: the records in between are still to be read.
                owned.sought = True
                self._seek(partition, state.position)
                return
            beginning = (await self._consumer.beginning_offsets([partition]))[partition]
            if beginning > state.position:
                self._note_lost(partition, state.position, beginning)
        owned.sought = False
        values = [record.value or b"" for record in records]
        if self._rounds is not None:
            unknown = [each for each in wire.fingerprints(values) if not state.knows(each)]
            for asked in await self._rounds.find(unknown) if unknown else ():
                state.learn(PhaseLayout(self._rounds.collection, asked))
        counted = state.count([record.offset for record in records], [record.timestamp for record in records], values)
        owned.dead_letters += [self._dead_letter(records[index], why) for index, why in counted.rejected]
        name = self.collection.name
        self._metrics.reports_counted.labels(name).inc(counted.reports)
        self._metrics.reports_duplicate.labels(name).inc(counted.duplicates)
        self._metrics.reports_late.labels(name).inc(counted.late)
        self._metrics.batches_implausible.labels(name).inc(counted.implausible)
        for _, why in counted.rejected:
            self._metrics.batches_rejected.labels(name, why.reason.value).inc()

    async def _check_broker(self, idle: Iterable[TopicPartition]) -> None:
        """Measure the lag, and advance the idle partitions that are truly at their end.

        Raises:
            KafkaError: the broker has not answered for BROKER_LOST_SECONDS.
        """
        name = self.collection.name
        self._checked_at = time.monotonic()
        try:
            ends = await self._consumer.end_offsets(list(self._owned))
            commits = await self._commits() if idle else {}
        except KafkaError as error:
            if self._checked_at > self._answered_at + BROKER_LOST_SECONDS:
                raise
            # A broker that is away is not a silent producer: the wait begins again when it is back.
            log.warning("%s: the broker does not answer: %r", name, error)
            for owned in self._owned.values():
                owned.state.interrupt_silence()
            return
        self._answered_at = time.monotonic()
        for partition in self._owned:
            lag = ends[partition] - self._owned[partition].state.position
            self._metrics.consumer_lag.labels(self._topic, str(partition.partition)).set(lag)
        for partition in idle:
            state = self._owned[partition].state
            if ends[partition] == state.position:
                others = [
                    checkpoint.watermark_ms
                    for other, checkpoint in commits.items()
                    if other != partition and checkpoint.watermark_ms is not None
                ]
                state.advance_idle(max(others, default=None))

    async def _flush(self) -> None:
        """Write what changed, in the order that the head of this module explains."""
        self._flushed_at = time.monotonic()
        changes = {
            partition: changed
            for partition, owned in self._owned.items()
            if (changed := owned.state.take_changes()) is not None
        }
        if not changes:
            return
        await self._publisher.publish(
            record
            for partition, changed in changes.items()
            for record in (
                *(self._partial(self._owned[partition], partial) for partial in changed.partials),
                *self._owned[partition].dead_letters,
            )
        )
        self._metrics.partials_published.labels(self.collection.name).inc(
            sum(len(changed.partials) for changed in changes.values())
        )
        try:
            async with asyncio.timeout(BROKER_LOST_SECONDS):
                await self._consumer.commit(
                    {
                        partition: OffsetAndMetadata(changed.checkpoint.offset, changed.checkpoint.metadata())
                        for partition, changed in changes.items()
                    }
                )
        except (CommitFailedError, IllegalStateError) as error:
            # Not ours any more. What was counted will be counted again by the new owner, from the last commit.
            log.warning("%s: commit refused, partitions dropped: %s", self.collection.name, error)
            self._drop(list(self._owned))
            return
        for partition in changes:
            self._owned[partition].dead_letters = []
        await self._publisher.publish(
            self._partial(self._owned[partition], changed.watermark)
            for partition, changed in changes.items()
            if changed.watermark is not None
        )
        self._metrics.last_commit.labels(self.collection.name).set_to_current_time()

    def _partial(self, owned: _Owned, record: partials.Partial | partials.Watermark) -> Record:
        key, value = partials.encode(record, writer=owned.writer)
        return Record(topic=self._partials_topic, key=key, value=value, partition=self._partials_partition)

    def _dead_letter(self, record: ConsumerRecord, why: Rejected) -> Record:
        place = f"{record.topic}-{record.partition}-{record.offset}"
        headers = {
            "reason": why.reason.value,
            "detail": why.detail,
            "source-topic": record.topic,
            "source-partition": str(record.partition),
            "source-offset": str(record.offset),
            "collection": self.collection.name,
            "fingerprint": self.collection.fingerprint.hex(),
        }
        return Record(
            topic=self._dead_letters_topic,
            key=place.encode(),
            value=record.value or b"",
            headers=tuple((name, text.encode()) for name, text in headers.items()),
        )

    async def _commits(self) -> dict[TopicPartition, Checkpoint]:
        """The last commit of every partition of the topic that has one.

        Raises:
            KafkaError: the group's coordinator could not be asked, though it was given time to be elected.
        """
        partitions = [
            TopicPartition(self._topic, number) for number in self._consumer.partitions_for_topic(self._topic)
        ]
        for tries_left in reversed(range(COORDINATOR_TRIES)):
            try:
                # `consumer.committed` hides the metadata, the admin client does not.
                commits = await self._admin.list_consumer_group_offsets(self._group, partitions=partitions)
                break
            except KafkaError as error:
                if not error.retriable or not tries_left:
                    raise
                await asyncio.sleep(COORDINATOR_WAIT_SECONDS)
        return {
            partition: Checkpoint.parse(commit.offset, commit.metadata)
            for partition, commit in commits.items()
            if commit.offset >= 0
        }

    def _seek(self, partition: TopicPartition, offset: int) -> None:
        try:
            self._consumer.seek(partition, offset)
        except IllegalStateError:
            # Revoked since we looked; the next turn sees it gone.
            self._drop([partition])

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions, and the gauges that only their owner can keep true."""
        for partition in partitions:
            del self._owned[partition]
            with contextlib.suppress(KeyError):
                self._metrics.consumer_lag.remove(self._topic, str(partition.partition))
            with contextlib.suppress(KeyError):
                self._metrics.watermark.remove(self.collection.name, str(partition.partition))

    def _note_lost(self, partition: TopicPartition, expected: int, beginning: int) -> None:
        what = (
            f"{partition.topic} partition {partition.partition}: retention deleted offsets {expected} to "
            f"{beginning - 1} before they were counted; raise retention.ms of the topic"
        )
        if not self._settings.accept_loss:
            raise ReportsLost(f"{what}, and start the worker with --accept-loss to go on without them")
        log.error("%s", what)
        self._metrics.offsets_lost.labels(self.collection.name).inc(beginning - expected)

    def _observe(self) -> None:
        name = self.collection.name
        self._metrics.panes_open.labels(name).set(sum(owned.state.open_panes for owned in self._owned.values()))
        for partition, owned in self._owned.items():
            if owned.state.watermark_ms is not None:
                self._metrics.watermark.labels(name, str(partition.partition)).set(owned.state.watermark_ms / 1_000)


class _Rebalance(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:  # noqa: ARG002
        await self._ingest.give_up()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:  # noqa: ARG002
        self._ingest.joined()
