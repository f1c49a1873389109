"""Share one consumer, in one group, among all collections that a worker counts.

A consumer group costs each of its members two connections, heartbeats and fetches, and the cluster a rebalance for
each member that comes or goes. So there is one for all reports topics, whatever their number. Each collection reads,
commits and gives up by itself (`stream_ldp.service.ownership`), as if it had a consumer of its own:

* Whichever collection waits for records first fetches for all. One that is busy holds nobody up, and nothing more is
  fetched for it until it has taken what has come.
* All collections give their partitions up before the group is joined again, each after the flush that is under way: a
  commit is never made with the generation of a later assignment. What waits for brokers too long is given up.
"""

import asyncio
import hashlib
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import IllegalStateError, KafkaError

from stream_ldp.kafka.columns import Columns
from stream_ldp.kafka.consumer import ColumnConsumer
from stream_ldp.kafka.decompression import MAX_EXPANDED_REPORTS_BYTES
from stream_ldp.kafka.settings import Settings

#: Default of Kafka for the longest time between two fetches of a live consumer, in milliseconds.
MAX_POLL_INTERVAL_MS = 300_000

#: Milliseconds between two looks of a consumer at what partitions its topics have, at least, and for each topic: an
#: answer takes 100 us a topic. Kafka's default is five minutes, for which the reports in partitions that are added
#: would wait, until their windows have closed.
METADATA_MS, TOPIC_METADATA_MS = 2_000, 50

#: Seconds for which collections that begin or end together are gathered, so that they join the group once.
TOGETHER_SECONDS = 0.1

#: Longest wait of one that fetches for all, until it looks at what it waits for itself.
LEAD_MS = 1_000

#: Longest wait for records of some collections while another one has yet to take its own.
SOME_MS = 20

#: Longest wait, in milliseconds, of the consumer's own loop, which then looks at each partition. Whatever comes, a
#: seek or another assignment wakes it; at its usual 200, it takes a percent of a core for a thousand partitions.
LOOP_MS = 2_000


class Assignor(RoundRobinPartitionAssignor):  # type: ignore[misc]
    """Deal the partitions of each topic in turn to the members that subscribe to it, each topic from another one on.

    Where a topic comes or goes, those of all others stay with their members, who then go on where they were.
    """

    name = "by-topic"

    @classmethod
    def assign(cls, cluster: Any, members: Mapping[str, Any]) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Assign all partitions of a cluster; the members have their subscriptions."""
        given: dict[str, dict[str, list[int]]] = {member: {} for member in members}
        subscribed: dict[str, list[str]] = defaultdict(list)
        for member in sorted(members):
            for topic in members[member].subscription:
                subscribed[topic].append(member)
        for topic, those in sorted(subscribed.items()):
            first = int.from_bytes(hashlib.blake2b(topic.encode(), digest_size=4).digest(), "big")
            for number in sorted(cluster.partitions_for_topic(topic) or ()):
                given[those[(first + number) % len(those)]].setdefault(topic, []).append(number)
        return {
            member: ConsumerProtocolMemberAssignment(cls.version, sorted(topics.items()), b"")
            for member, topics in given.items()
        }


class Member(Protocol):
    """A collection's part of the group, which receives its own partitions."""

    async def on_partitions_revoked(self) -> None:
        """Give all partitions up, after the flush that is under way."""

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Take note that these are assigned."""


class _Inbox:
    """What has been fetched for a collection, until it takes it.

    fetches: what each fetch has brought of a partition, in order.
    error: why nothing more can be fetched.
    woken: whether the collection shall not wait any more, although there may be nothing to take.
    waiting: what it waits for; None if it does not.
    """

    def __init__(self) -> None:
        self.fetches: dict[TopicPartition, deque[Columns]] = {}
        self.error: KafkaError | None = None
        self.woken = False
        self.waiting: asyncio.Future[None] | None = None

    @property
    def full(self) -> bool:
        """Whether it is to be taken now."""
        return bool(self.fetches) or self.error is not None or self.woken

    def wake(self) -> None:
        """Let the collection look, if it waits."""
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)

    def take(self) -> dict[TopicPartition, Columns]:
        """Take what one fetch has brought of each partition; raises the error if there is one."""
        error, self.error, self.woken = self.error, None, False
        if error is not None:
            raise error
        found = {partition: fetches.popleft() for partition, fetches in self.fetches.items()}
        self.fetches = {partition: fetches for partition, fetches in self.fetches.items() if fetches}
        return found


class ReportsGroup(ConsumerRebalanceListener):  # type: ignore[misc]
    """This worker's membership in the group that counts all collections."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._consumer: Any = None
        self._members: dict[str, Member] = {}
        self._subscribed: set[str] = set()
        self._inboxes: dict[str, _Inbox] = defaultdict(_Inbox)
        self._changing = asyncio.Lock()
        self._closing = False
        self._fetching = False
        # By topic: every how many seconds its collection wants records.
        self._periods: dict[str, float] = {}
        # What the consumer has been assigned, whole and by topic.
        self._assigned: set[TopicPartition] = set()
        self._assigned_of: dict[str, set[TopicPartition]] = {}

    async def join(self, topic: str, member: Member) -> None:
        """Count a topic too.

        Raises:
            KafkaError: the brokers cannot be used.
        """
        self._members[topic] = member
        await self._subscribe()

    async def leave(self, topic: str) -> None:
        """Count a topic no more; may be called without a `join`."""
        self._members.pop(topic, None)
        self._inboxes.pop(topic, None)
        self._periods.pop(topic, None)
        await self._subscribe()

    def close(self) -> None:
        """Stay a member, as it is, until the last collection leaves: all flush before the others are notified."""
        self._closing = True

    async def _subscribe(self) -> None:
        """Let the group hear of the topics that are counted by now, and of nothing if it has."""
        if self._consumer is not None and self._members:
            await asyncio.sleep(TOGETHER_SECONDS)
        # A task that is cancelled meanwhile leaves nothing half done.
        await asyncio.shield(asyncio.ensure_future(self._change()))

    async def _change(self) -> None:
        async with self._changing:
            topics = set(self._members)
            if topics == self._subscribed or (topics and self._closing):
                return
            if not topics:
                consumer, self._consumer, self._subscribed = self._consumer, None, topics
                await consumer.stop()
            elif self._consumer is None:
                await self._start(topics)
            else:
                # Before aiokafka forgets what is assigned: what comes back to this worker goes on where it was.
                await self.on_partitions_revoked()
                self._consumer.subscribe(sorted(topics), listener=self)
                self._subscribed = topics
                self._consumer.look_every(max(METADATA_MS, TOPIC_METADATA_MS * len(topics)))

    async def _start(self, topics: set[str]) -> None:
        consumer = ColumnConsumer(
            **self._settings.client_options(),
            group_id=self._settings.group_names.ingest,
            partition_assignment_strategy=(Assignor,),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            most_expanded=MAX_EXPANDED_REPORTS_BYTES,
            session_timeout_ms=self._settings.session_timeout_ms,
            heartbeat_interval_ms=self._settings.heartbeat_interval_ms,
            rebalance_timeout_ms=self._settings.rebalance_timeout_ms,
            request_timeout_ms=self._settings.request_timeout_ms,
            consumer_timeout_ms=LOOP_MS,
            metadata_max_age_ms=max(METADATA_MS, TOPIC_METADATA_MS * len(topics)),
            # A consumer that has not fetched for so long does not join its group again: not before the end of a
            # flush that waits for brokers.
            max_poll_interval_ms=round(2_000 * self._settings.outage_seconds) + MAX_POLL_INTERVAL_MS,
        )
        self._subscribed = topics
        consumer.subscribe(sorted(topics), listener=self)
        try:
            await consumer.start()
        except BaseException:
            self._subscribed = set()
            await consumer.stop()
            raise
        self._consumer = consumer

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition] = ()) -> None:  # noqa: ARG002
        """Let all collections give their partitions up."""
        await asyncio.gather(*(each.on_partitions_revoked() for each in list(self._members.values())))
        for inbox in self._inboxes.values():
            inbox.fetches = {}

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Tell each collection what is assigned of its topic."""
        of: dict[str, list[TopicPartition]] = {topic: [] for topic in self._subscribed}
        for partition in assigned:
            of[partition.topic].append(partition)
        for topic, partitions in of.items():
            if topic in self._members:
                await self._members[topic].on_partitions_assigned(partitions)
                self.wake(topic)

    @property
    def collections(self) -> int:
        """Number of collections that are counted."""
        return len(self._members)

    def assignment(self, topic: str) -> set[TopicPartition]:
        """Return the partitions of a topic that the group has assigned to this worker."""
        if self._consumer is None:
            return set()
        if (assigned := self._consumer.assignment()) is not self._assigned:
            self._assigned, self._assigned_of = assigned, {}
            for each in assigned:
                self._assigned_of.setdefault(each.topic, set()).add(each)
        return self._assigned_of.get(topic, set())

    async def fetch(self, topic: str, *, timeout_ms: int, max_records: int) -> dict[TopicPartition, Columns]:
        """Return the next records of a topic as soon as there are any, or none after so many milliseconds.

        Raises:
            KafkaError: they cannot be read.
        """
        inbox, clock = self._inboxes[topic], asyncio.get_running_loop().time
        until = clock() + timeout_ms / 1_000
        try:
            while not inbox.full and (left_ms := round(1_000 * (until - clock()))) > 0:
                inbox.waiting = asyncio.get_running_loop().create_future()
                if self._fetching:
                    await asyncio.wait([inbox.waiting], timeout=left_ms / 1_000)
                elif await self._fetch_for_all(timeout_ms=left_ms, max_records=max_records):
                    break
            return inbox.take()
        finally:
            inbox.waiting = None
            self._hand_over()

    async def _fetch_for_all(self, *, timeout_ms: int, max_records: int) -> bool:
        """Fetch for all, and hand it out; return whether that was all that there is time for."""
        self._fetching = True
        try:
            unread = {topic for topic, inbox in self._inboxes.items() if inbox.fetches}
            wanted = [each for each in self.consumer.assignment() if each.topic not in unread] if unread else []
            some, last = bool(unread), timeout_ms <= LEAD_MS
            timeout_ms = min(timeout_ms, SOME_MS if some else LEAD_MS)
            if some and not wanted:
                await asyncio.sleep(timeout_ms / 1_000)
                return False
            fetched = await self.consumer.getmany(*wanted, timeout_ms=timeout_ms, max_records=max_records)
            for partition, records in fetched.items():
                if partition.topic in self._members:
                    self._inboxes[partition.topic].fetches.setdefault(partition, deque()).append(records)
        except KafkaError as error:
            # An error of one topic names it.
            about = [topic for topic in self._members if topic in map(str, error.args)]
            for topic in about or self._members:
                self._inboxes[topic].error = error
        finally:
            self._fetching = False
            for inbox in self._inboxes.values():
                if inbox.full:
                    inbox.wake()
        return last and not some

    def _hand_over(self) -> None:
        """Wake one that fetches next, if nobody does."""
        if not self._fetching:
            for inbox in self._inboxes.values():
                if inbox.waiting is not None:
                    inbox.wake()
                    break

    def wake(self, topic: str) -> None:
        """Let a collection wait no longer for records."""
        self._inboxes[topic].woken = True
        self._inboxes[topic].wake()

    def gather(self, topic: str, *, seconds: float, period: float) -> None:
        """Let what comes gather at the brokers for so long, and then again and again, unless a partition is behind.

        The collection that wants it most often decides for all.

        period: seconds from one time at which it is fetched to the next, positive.
        """
        self._periods[topic] = period
        if period <= min(self._periods.values()):
            self.consumer.gather(seconds=seconds, period=period)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read a partition on at an offset.

        Raises:
            IllegalStateError: it is not assigned.
        """
        self._inboxes[partition.topic].fetches.pop(partition, None)
        self.consumer.seek(partition, offset)

    def place(self, partition: TopicPartition) -> int | None:
        """Return where the next fetch of a partition begins; None if its records wait here, or it is unknown."""
        return None if partition in self._inboxes[partition.topic].fetches else self.consumer.place_of(partition)

    @property
    def consumer(self) -> Any:
        """The consumer, which commits, and is asked for offsets."""
        if self._consumer is None:
            raise IllegalStateError("the group has not been joined")
        return self._consumer
