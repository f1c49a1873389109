"""Manage the partitions of a reports topic that this worker owns, and the places to read them from.

A partition is taken over at its last commit, read without a gap, and given up with all that was counted in it; the
next owner goes on from the last commit. A worker that gets back what nobody else has claimed goes on where it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING, NamedTuple

from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError, UnknownTopicOrPartitionError
from aiokafka.structs import OffsetAndMetadata

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.offsets import offsets_since
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.service.windows_log import restored_panes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.cluster import Cluster
    from stream_ldp.kafka.columns import Columns
    from stream_ldp.kafka.producer import Record
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.restoring import RestoredPanes
    from stream_ldp.pipeline.retirement import Retirement
    from stream_ldp.pipeline.topic_identity import TopicIdentity
    from stream_ldp.service.joining import Joining
    from stream_ldp.service.metrics import IngestMetrics
    from stream_ldp.service.reports_group import ReportsGroup

log = logging.getLogger(__name__)

#: Seconds between two looks, while a commit is not accepted, at whether its topic has been deleted.
LOOK_SECONDS = 1.0

#: The last time that a request can name, in milliseconds since 1970-01-01 UTC.
LAST_MS = 2**63 - 1

#: Seconds beyond its timeout that a fetch may take, so that the loop goes on turning during an outage.
ASSIGNMENT_SECONDS = 1.0

#: Seconds for a group's coordinator to move to another broker: as long as an election takes, and well within the
#: session, so that no peer has to wait for this worker.
COORDINATOR_SECONDS = 3.0


#: A rebalance, for which all members of the group wait, waits so long for what one collection does, as a part of its
#: timeout.
WORK_PART = 0.5

#: Bytes of the key of hashes of batch ids, which no client can guess.
ID_KEY_BYTES = 16


class ReportsLost(StreamLDPError, RuntimeError):
    """Retention deleted reports before they were counted."""


class Owned:
    """A source partition that this worker owns, with what it has yet to write."""

    def __init__(self, state: SourcePartition) -> None:
        self.state = state
        # It names this owner in the keys of partials, so that compaction never drops another owner's for them.
        self.writer = os.urandom(4).hex()
        self.dead_letters: list[Record] = []
        # After a seek, records that begin at another offset mean a gap in the log, not a stale fetch.
        self.sought = True


class _Saved(NamedTuple):
    """Saved panes, and the layouts of their reports but for the collection's own."""

    panes: RestoredPanes
    layouts: Sequence[Layout]


class Ownership:
    """This worker's membership in the group that counts a collection.

    partitions: the partitions that it owns.
    group: name of the group, which counts other collections, too.
    joined: whether the group has assigned its partitions.
    lock: held while partitions are read, flushed or given up: a rebalance waits for a flush, so that a commit is
        never made from counts of an earlier generation.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        settings: Settings,
        cluster: Cluster,
        joining: Joining,
        reports: ReportsGroup,
        metrics: IngestMetrics,
        now_ms: Callable[[], int],
        retirement: Retirement | None = None,
        is_current: Callable[[], Awaitable[bool]] | None = None,
        layouts: Callable[[Iterable[bytes]], Awaitable[list[Layout]]] | None = None,
    ) -> None:
        """Prepare for one collection.

        joining: lets partitions join that nobody has counted yet.
        reports: the group that counts it.
        now_ms: time of day, in milliseconds since 1970-01-01 UTC, which numbers the generations.
        retirement: where its log ends, if it is retired.
        is_current: asked after each assignment, whether the collection is still the registered one: see
            `stream_ldp.service.roster`. It always is, if not given.
        layouts: finds the layouts of fingerprints other than the collection's own, for those that it has.
        """
        self.partitions: dict[TopicPartition, Owned] = {}
        # At a rebalance, until it is known who owns them next.
        self._given_up: dict[TopicPartition, Owned] = {}
        # Partitions whose lost end has been logged, until they begin anew.
        self._cut_noted: set[TopicPartition] = set()
        self.joined = False
        self.lock = asyncio.Lock()
        self._collection = collection
        self._topic = settings.topic_names.reports(collection.name)
        self.group = settings.group_names.ingest
        self._settings = settings
        self._cluster = cluster
        self._joining = joining
        # The reports topic as it was when the partitions were taken over.
        self._identity: TopicIdentity | None = None
        self._metrics = metrics
        self._now_ms = now_ms
        self._retirement = retirement
        self._is_current = is_current
        self._layouts = layouts
        self._reports = reports
        # What is done under the lock, whether that is a commit, and whether a rebalance waits for it no longer.
        self._work: asyncio.Future[None] | None = None
        self._commits = self._hurried = False

    async def start(self) -> None:
        """Join the group.

        Raises:
            KafkaError: the brokers cannot be used.
        """
        await self._reports.join(self._topic, self)

    async def stop(self) -> None:
        """Leave the group; may be called without a start."""
        await self._reports.leave(self._topic)

    async def on_partitions_revoked(self) -> None:
        """Give all partitions up; their next owner begins at the last commit, unless it is this worker again.

        What waits for brokers too long, as where one topic has no leader, is given up: all collections wait for it.
        """
        seconds = WORK_PART * self._settings.rebalance_timeout_ms / 1_000
        hurry = asyncio.get_running_loop().call_later(seconds, self._hurry)
        try:
            async with self.lock:
                # It may be called twice before the next assignment.
                self._given_up |= self.partitions
                self._drop(list(self.partitions))
                self.joined = False
        finally:
            hurry.cancel()
            self._hurried = False

    def _hurry(self) -> None:
        self._hurried = True
        # A commit that was sent may be accepted, and is tried again in the generation of a later assignment.
        if self._work is not None and not self._commits:
            self._work.cancel()

    async def work(self, work: Awaitable[None]) -> None:
        """Await what is done under the lock; if a rebalance has to end it, nothing is owned any more."""
        self._work = doing = asyncio.ensure_future(work)
        try:
            await asyncio.wait([doing])
        except asyncio.CancelledError:
            doing.cancel()
            await asyncio.wait([doing])
            raise
        finally:
            self._work = None
        if not (doing.cancelled() and self._hurried):
            return doing.result()
        log.error(
            "%s: what it has counted cannot be written, or what it asks is not answered: the group rebalances, its "
            "other collections wait no longer, and it counts again from the last commit",
            self._collection.name,
            extra={"collection": self._collection.name},
        )
        return self._drop(list(self.partitions))

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Note that the group has assigned its partitions."""
        self.joined = True
        numbers = sorted(each.partition for each in assigned)
        log.info(
            "%s: counts partitions %s of %s",
            *(self._collection.name, ", ".join(map(str, numbers)) or "none", self._topic),
            extra={"collection": self._collection.name, "topic": self._topic, "partitions": numbers},
        )
        self._metrics.rebalances.labels(self._collection.name).inc()

    async def fetch(self, *, timeout_ms: int, max_records: int) -> dict[TopicPartition, Columns]:
        """Return the next records as soon as there are any, or none after so many milliseconds."""
        try:
            # While the group has no coordinator, aiokafka waits for an assignment without end.
            async with asyncio.timeout(timeout_ms / 1_000 + ASSIGNMENT_SECONDS):
                fetched = await self._reports.fetch(self._topic, timeout_ms=timeout_ms, max_records=max_records)
        except TimeoutError:
            return {}
        for partition, records in fetched.items():
            if 0 in records.faults and partition in self.partitions:
                # It stands for all of its batch, with the offset of the last record.
                self.partitions[partition].sought = True
        return fetched

    def gather(self, *, seconds: float, period: float) -> None:
        """Let reports gather at the brokers; see `ReportsGroup.gather`."""
        self._reports.gather(self._topic, seconds=seconds, period=period)

    def wake(self) -> None:
        """Wait no longer for records."""
        self._reports.wake(self._topic)

    async def take_over(self) -> None:
        """Begin to read the newly assigned partitions, at their last commit.

        Raises:
            ReportsLost: retention has deleted the reports that are next.
            KafkaError: the brokers cannot be asked.
        """
        if not self.joined:
            # aiokafka goes on naming the earlier partitions until it has got new ones.
            return
        assigned = self._reports.assignment(self._topic)
        self._drop(self.partitions.keys() - assigned)
        new = sorted(assigned - self.partitions.keys())
        # After the assignment: a change of the collection has waited until no member was left.
        if not new or not (self._is_current is None or await self._is_current()):
            return
        topic = await self._topic_now(new)
        commits = {each: commit for each, commit in (await self.commits()).items() if commit.is_of(topic)}
        # After the commits: a log never ends before what has been committed, unless the brokers have lost its end.
        (beginnings, ends), later = await asyncio.gather(
            self._bounds(new),
            self._later(
                {each: (commits[each].position, commits[each].appended_ms) for each in new if each in commits}
            ),
        )
        cut = {
            each: end
            for each in new
            if each in commits and commits[each].position > (end := min(ends[each], later.get(each, ends[each])))
        }
        # Nobody has claimed them in between, or the last commit would be another's: what was counted is right.
        unclaimed = {
            each
            for each in new
            if each in self._given_up and self._given_up[each].state.checkpoint == commits.get(each)
        }
        restored = await self._restored(
            {each: commits[each] for each in new if each in commits.keys() - cut.keys() - unclaimed}
        )
        generation = self._now_ms()
        joining = [each.partition for each in new if each not in commits]
        closed = await self._joining.join(joining, topic=topic, generation=generation) if joining else None
        self._note_commits(
            [each.partition for each in new if each in commits and not commits[each].generation],
            "begin where an operator, or something else than a worker, has put them: what was not counted before "
            "that is in no window",
        )
        self._note_commits(
            [each for each in joining if closed is not None and closed.has_counted(each, topic_id=topic.id)],
            "were counted before, and have no commit any more (was the group deleted, or without members for the "
            "brokers' offsets.retention.minutes?): reports of windows that had closed are refused as late, also "
            "those that are in their finals",
        )
        self._identity = topic
        # Not before: a question that fails is asked again, and then a partition still comes back as it was.
        given_up, self._given_up = self._given_up, {}
        for partition in new:
            checkpoint, beginning = commits.get(partition), beginnings[partition]
            if partition in unclaimed:
                before = given_up[partition]
                before.state.interrupt_silence()
                before.sought = True
                self.partitions[partition] = before
                self._seek(partition, before.state.position)
                continue
            saved = restored.get(partition)
            if saved is not None and saved.panes.offset < beginning:
                saved = None
            if checkpoint is not None and saved is None and checkpoint.offset < beginning:
                self._note_lost(partition, checkpoint.offset, beginning)
                checkpoint = checkpoint.moved_to(beginning)
            if checkpoint is not None and partition in cut:
                if partition not in self._cut_noted:
                    self._note_cut(partition, checkpoint.position)
                checkpoint = checkpoint.cut_to(cut[partition])
            self._cut_noted.discard(partition)
            watermark_ms = None
            if checkpoint is None and closed is not None:
                # Above all that an owner of another topic of this name has written.
                generation = max(generation, closed.generation(partition.partition) + 1)
                watermark_ms = closed.watermark_ms(partition.partition)
            state = SourcePartition(
                self._collection,
                kind_of(self._collection).layout(self._collection),
                partition=partition.partition,
                start=beginning,
                watermark_ms=watermark_ms,
                topic=topic,
                checkpoint=checkpoint,
                generation=generation,
                max_batches=self._settings.max_batches,
                max_linked=self._settings.max_linked,
                id_key=os.urandom(ID_KEY_BYTES),
                save_records=self._settings.save_records,
                log_end=ends[partition],
                region=self._settings.region,
                end=None
                if self._retirement is None
                else self._retirement.end(partition.partition, topic_id=topic.id),
            )
            if saved is not None:
                self._restore(partition.partition, state, saved)
            self.partitions[partition] = Owned(state)
            self._seek(partition, state.position)

    async def _restored(self, commits: Mapping[TopicPartition, Checkpoint]) -> dict[TopicPartition, _Saved]:
        """Read back the open panes that the owners before have saved.

        Raises:
            KafkaError: the brokers cannot be asked.
        """
        places = {each.partition: commit.saved for each, commit in commits.items() if commit.saved is not None}
        found = await restored_panes(self._collection, places, settings=self._settings)
        others = {each for panes in found.values() for each in panes.fingerprints} - {self._collection.fingerprint}
        layouts = await self._layouts(others) if others and self._layouts is not None else []
        for number in sorted(places.keys() - found.keys()):
            log.warning(
                "%s: what was saved of open windows of partition %d is not on the log any more: all of their reports "
                "are read again",
                *(self._collection.name, number),
                extra={"collection": self._collection.name, "partitions": [number]},
            )
        return {each: _Saved(found[each.partition], layouts) for each in commits if each.partition in found}

    def _restore(self, number: int, state: SourcePartition, saved: _Saved) -> None:
        """Go on, in the partition of this number, from saved panes, unless they are of other layouts than these."""
        for layout in saved.layouts:
            state.learn(layout)
        try:
            state.restore(saved.panes)
        except (ValueError, KeyError) as error:
            log.warning("%s: saved windows cannot be restored: %r", self._collection.name, error)
            return
        last = state.checkpoint
        log.info(
            "%s: goes on from saved open windows of partition %d: %d of its records are read again, not %d",
            *(self._collection.name, number, last.position - state.position, last.position - last.offset),
            extra={"collection": self._collection.name, "partitions": [number]},
        )

    async def _bounds(
        self, partitions: Iterable[TopicPartition]
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        """Return the offsets of the first record of each partition, and of the next one to be written.

        Asked twice: no checksum covers an answer, and one that is damaged on its way would skip reports.
        """
        asked = (self._reports.consumer.beginning_offsets, self._reports.consumer.end_offsets)
        begin, end, begin_again, end_again = await asyncio.gather(*(ask(partitions) for ask in (*asked, *asked)))
        return (
            {each: min(begin[each], begin_again[each]) for each in begin},
            {each: max(end[each], end_again[each]) for each in end},
        )

    async def continues(self, partition: TopicPartition, offsets: Sequence[int] | NDArray[np.int64]) -> bool:
        """Decide whether records with these offsets are the next of a partition that this worker owns.

        If they are of an earlier fetch, or some are missing, the partition is read again from its position. A log may
        have gaps, such as the marks of transactions: those are there again.

        Raises:
            ReportsLost: retention has deleted the reports that are next.
            KafkaError: the brokers cannot be asked.
        """
        owned = self.partitions.get(partition)
        if owned is None:
            return False
        position = owned.state.position
        # No checksum of Kafka covers the offset of a batch: one that is damaged on its way would hide what it skips.
        whole = (offsets[0], offsets[-1]) == (position, position + len(offsets) - 1)
        # A reader whose place is beyond the end begins with the oldest record: see `ends`.
        if offsets[0] < position or not (whole or owned.sought):
            self._read_again_from(position, partition, owned)
            return False
        if offsets[0] > position:
            beginning = (await self._reports.consumer.beginning_offsets([partition]))[partition]
            if beginning > position:
                self._note_lost(partition, position, beginning)
        owned.sought = False
        return True

    def pass_marks(self, partition: TopicPartition, end: int) -> None:
        """Take note if a partition has marks of transactions at its end, which no record shows, and nothing to count.

        They are read twice, as `continues` reads a gap. Without them, one transaction would keep the partition from
        ever being silent, and so the windows of the collection open.
        """
        owned = self.partitions[partition]
        if owned.state.read_to >= end or self._reports.place(partition) != end:
            return
        if owned.sought:
            owned.sought = False
            owned.state.pass_marks(end)
        else:
            self._read_again_from(owned.state.read_to, partition, owned)

    def _read_again_from(self, offset: int, partition: TopicPartition, owned: Owned) -> None:
        """Fetch a partition once more from an offset: a gap that is there again is one of the log."""
        owned.sought = True
        self._seek(partition, offset)

    async def _topic_now(self, partitions: Iterable[TopicPartition]) -> TopicIdentity:
        """Return the topic as it is.

        Raises:
            KafkaError: the brokers cannot be asked, or the one that was does not know all of the partitions yet.
        """
        topic = (await self._cluster.identities([self._topic])).get(self._topic)
        if topic is None or any(partition.partition >= topic.partitions for partition in partitions):
            raise UnknownTopicOrPartitionError(self._topic)
        return topic

    def compare(self, topic: TopicIdentity) -> None:
        """Begin anew, at the next turn, if the topic as it is now is not the one that has been counted."""
        if self.partitions and self._identity is not None and topic.id != self._identity.id:
            log.error(
                "%s: topic %s has been deleted and made again: it is counted from its beginning, and reports of the "
                "old one are lost for windows that are open",
                *(self._collection.name, self._topic),
                extra={"collection": self._collection.name, "topic": self._topic},
            )
            self._drop(list(self.partitions))

    async def _later(self, read: Mapping[TopicPartition, tuple[int, int | None]]) -> dict[TopicPartition, int]:
        """Return where, before the position to which a partition has been read, it has records of a later time.

        read: position, and the time at which the newest record before it was appended, of each partition.
        """
        times = {
            each: min(max(0, time_ms), LAST_MS - 1) + 1 for each, (_, time_ms) in read.items() if time_ms is not None
        }
        found = await self._reports.consumer.offsets_for_times(times) if times else {}
        # Seldom any: a broker that names such a place has lost the end of the log, or believes a producer.
        doubtful = {key: times[key] for key, each in found.items() if each is not None and each.offset < read[key][0]}
        return await offsets_since(self._settings, doubtful, ends={key: read[key][0] for key in doubtful})

    def read_again(self) -> None:
        """Read every partition from its position, since what has been fetched could not be counted."""
        for partition, owned in list(self.partitions.items()):
            self._read_again_from(owned.state.position, partition, owned)

    @property
    def collections(self) -> int:
        """Number of collections that this worker counts."""
        return self._reports.collections

    @property
    def assigned(self) -> bool:
        """Whether the group has assigned some partition to this worker."""
        return bool(self._reports.assignment(self._topic))

    @property
    def waiting(self) -> list[int]:
        """The partitions that the group has assigned to this worker, and that it has not taken over yet."""
        return sorted(each.partition for each in self._reports.assignment(self._topic) - self.partitions.keys())

    async def ends(self) -> dict[TopicPartition, int]:
        """Return the end offsets of the owned partitions.

        Partitions whose log no longer holds what has been read begin anew at the next turn: the log ends before that
        offset, or has grown beyond it since, and what is there now was appended later.

        Raises:
            KafkaError: the brokers cannot be asked.
        """
        owned = self.partitions.copy()
        ends: dict[TopicPartition, int]
        # At once: an answer comes only after that of a fetch that waits for records.
        ends, later = await asyncio.gather(
            self._reports.consumer.end_offsets(list(owned)),
            self._later({key: (each.state.position, each.state.appended_ms) for key, each in owned.items()}),
        )
        for partition, each in owned.items():
            if min(ends[partition], later.get(partition, ends[partition])) < each.state.position:
                self._note_cut(partition, each.state.position)
                self._cut_noted.add(partition)
                self._drop([partition])
        return ends

    async def commits(self) -> dict[TopicPartition, Checkpoint]:
        """Return the last commit of every partition of the topic that has one.

        Raises:
            NoCoordinator: the group has no coordinator, even after the time of an election.
            KafkaError: it cannot be asked; or the broker that was asked last has no such topic, as one that is
                starting may not.
            ForeignCommit: something else has committed for the group.
        """
        numbers = self._reports.consumer.partitions_for_topic(self._topic)
        if numbers is None:
            raise UnknownTopicOrPartitionError(self._topic)
        partitions = [TopicPartition(self._topic, number) for number in numbers]
        commits = await self._cluster.commits(self.group, partitions, seconds=COORDINATOR_SECONDS)
        return {partition: Checkpoint.parse(*commit) for partition, commit in commits.items()}

    async def commit(self, checkpoints: Mapping[TopicPartition, Checkpoint]) -> bool:
        """Commit, and return whether the coordinator accepted it; if it did not, all partitions are given up.

        Raises:
            TimeoutError: the coordinator did not respond for as long as an outage may last.
        """
        offsets = {
            partition: OffsetAndMetadata(checkpoint.offset, checkpoint.metadata())
            for partition, checkpoint in checkpoints.items()
        }
        self._commits = True
        try:
            async with asyncio.timeout(self._settings.outage_seconds):
                await self._commit(offsets)
        except (CommitFailedError, IllegalStateError, UnknownTopicOrPartitionError) as error:
            # The partitions have a new owner, which counts their reports again from the last commit.
            log.warning("%s: commit refused, partitions dropped: %s", self._collection.name, error)
            self._drop(list(self.partitions))
            return False
        finally:
            self._commits = False
            if self._hurried:
                self._hurry()
        return True

    async def _commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit, unless the topic is gone: aiokafka would try it without end, and a rebalance would wait for it."""
        committing = asyncio.ensure_future(self._reports.consumer.commit(offsets))
        try:
            while not (await asyncio.wait([committing], timeout=LOOK_SECONDS))[0]:
                known = None
                # The absence of a broker is no absence of a topic.
                with contextlib.suppress(KafkaError, TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        known = await self._cluster.identities([self._topic])
                if known is not None and self._topic not in known:
                    raise UnknownTopicOrPartitionError(self._topic)
            await committing
        finally:
            committing.cancel()

    def _seek(self, partition: TopicPartition, offset: int) -> None:
        try:
            self._reports.seek(partition, offset)
        except IllegalStateError:
            # The partition was revoked in the meantime; the next turn notices.
            self._drop([partition])

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions, and the gauges that only their owner can keep true."""
        for partition in partitions:
            del self.partitions[partition]
            with contextlib.suppress(KeyError):
                self._metrics.consumer_lag.remove(self._topic, str(partition.partition))
            with contextlib.suppress(KeyError):
                self._metrics.watermark.remove(self._collection.name, str(partition.partition))

    def _note_cut(self, partition: TopicPartition, position: int) -> None:
        log.error(
            "%s partition %d was counted up to offset %d, and the brokers have lost the end of that: what is written "
            "in its place is counted, and what they lost is missing in windows that are open; was there a power "
            "failure, or an unclean election?",
            *(partition.topic, partition.partition, position),
            extra={
                "collection": self._collection.name,
                "topic": partition.topic,
                "partitions": [partition.partition],
            },
        )

    def _note_commits(self, partitions: Sequence[int], what: str) -> None:
        if partitions:
            numbers = ", ".join(map(str, partitions))
            log.warning(
                "%s: partitions %s of %s %s",
                *(self._collection.name, numbers, self._topic, what),
                extra={"collection": self._collection.name, "topic": self._topic, "partitions": partitions},
            )

    def _note_lost(self, partition: TopicPartition, expected: int, beginning: int) -> None:
        what = (
            f"{partition.topic} partition {partition.partition}: retention deleted offsets {expected} to "
            f"{beginning - 1} before they were counted; raise retention.ms of the topic"
        )
        if not self._settings.accept_loss:
            raise ReportsLost(f"{what}, and start the worker with --accept-loss to go on without them")
        log.error("%s", what)
        self._metrics.offsets_lost.labels(self._collection.name).inc(beginning - expected)
