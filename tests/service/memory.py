"""A reports topic in memory, with the group, producer and time of one worker that ingests it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndMetadata

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.columns import Columns
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.unreadable import faults_of
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.quarantine import LogEntry
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.records.collection import JointCollection
from stream_ldp.service import joining, ownership, reports_group, windows_log
from stream_ldp.service.ingest import Ingest
from stream_ldp.service.joining import Joining
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.ownership import Ownership
from stream_ldp.service.reports_group import Assignor, ReportsGroup
from tests.service.harness import SURVEY, batches

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from stream_ldp.kafka.producer import Record
    from stream_ldp.kafka.protocol import DescribeTopics

COLLECTION = JointCollection.parse(SURVEY.format(name="survey"))

#: The time of day at which a test begins: the beginning of a window.
START_MS = 1_700_000_000_000


@dataclass(kw_only=True)
class MemoryKafka:
    """It does as its fields say, and notes what is done to it.

    done: ("publish", kinds of the records) and ("commit", offsets by partition), in the order in which they happened.
    topics: id and number of partitions of each topic that there is, by name.
    members: number of members of the group.
    failing: what every question to the cluster fails with.
    refusing: what every commit is refused with.
    turn_seconds: how long a fetch takes.
    asking_seconds: how long the question for the ends of partitions takes.
    waiting: whether a fetch that brings nothing takes as long as it may.
    withheld: whether fetches bring nothing.
    read: offsets of the records that were fetched, in order.
    hung_up: how often a connection of the administrator was closed.
    """

    partitions: int = 1
    seconds: float = 1_000.0
    turn_seconds: float = 0.1
    asking_seconds: float = 0.0
    waiting: bool = False
    withheld: bool = False
    done: list[tuple[str, Any]] = field(default_factory=list)
    published: list[Record] = field(default_factory=list)
    commits: dict[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)
    failing: Exception | None = None
    refusing: Exception | None = None
    stopped: bool = False
    hung_up: int = 0
    read: list[int] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings.load)
    metrics: Metrics = field(default_factory=lambda: Metrics(["survey"]))

    def __post_init__(self) -> None:
        self.topic = self.settings.topic_names.reports("survey")
        self.all = [TopicPartition(self.topic, number) for number in range(self.partitions)]
        names = self.settings.topic_names
        others = names.partials, names.answers(COLLECTION), names.dead_letters("survey")
        self.topics = dict.fromkeys((self.topic, *others), ("a1", self.partitions))
        self.members = 1
        self.log: dict[TopicPartition, list[Any]] = {partition: [] for partition in self.all}
        self.beginning = dict.fromkeys(self.all, 0)
        self.place = dict.fromkeys(self.all, 0)
        self.assigned = set(self.all)
        self.stale: dict[TopicPartition, list[Any]] = {}
        self.waits_ms: list[int] = []
        self.periods: list[tuple[int, float]] = []
        self.leads: list[float] = []

    # The parts of a worker on it.

    def ingest(self, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Ingest:
        self._connect(monkeypatch)
        return Ingest(
            COLLECTION,
            settings=self.settings.model_copy(update=settings),
            admin=self,
            producer=self,  # type: ignore[arg-type]
            reports=ReportsGroup(self.settings),
            metrics=self.metrics,
            clock=lambda: self.seconds,
            now_ms=self.now_ms,
        )

    def ownership(self, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Ownership:
        self._connect(monkeypatch)
        cluster = Cluster(self)
        return Ownership(
            COLLECTION,
            settings=self.settings.model_copy(update=settings),
            cluster=cluster,
            joining=Joining(
                COLLECTION,
                settings=self.settings,
                cluster=cluster,
                producer=self,  # type: ignore[arg-type]
            ),
            reports=ReportsGroup(self.settings),
            metrics=self.metrics.ingest,
            now_ms=self.now_ms,
        )

    def _connect(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def no_merge(*_: object) -> None:
            return None

        monkeypatch.setattr(reports_group, "LEAD_MS", 1e9)  # a turn fetches once
        monkeypatch.setattr(reports_group, "ColumnConsumer", lambda *_, **__: self)
        monkeypatch.setattr(ownership, "offsets_since", self._offsets_since)
        monkeypatch.setattr(joining, "last_merge", no_merge)
        monkeypatch.setattr(joining, "partials_log", self._partials_log)
        monkeypatch.setattr(windows_log, "partials_log", self._partials_log)

    async def _partials_log(
        self, name: str, *, settings: Settings, begin: int = 0, since_ms: int = 0
    ) -> AsyncIterator[LogEntry]:
        assert (name, begin) == ("survey", 0)
        assert since_ms <= self.now_ms()
        for offset, each in enumerate(self.published):
            if each.topic == settings.topic_names.partials:
                yield LogEntry.read(each.topic, 0, offset, key=each.key, value=each.value, fault=None)

    def now_ms(self) -> int:
        return START_MS + round((self.seconds - 1_000.0) * 1_000)

    # What the test does to it.

    def write(self, value: bytes, *, partition: int = 0) -> None:
        place = self.all[partition]
        self.log[place].append(
            SimpleNamespace(
                topic=self.topic,
                partition=partition,
                offset=len(self.log[place]),
                timestamp=self.now_ms(),
                value=value,
            )
        )

    def report(self, *, reports: int = 5, partition: int = 0) -> None:
        """Write a good batch of this moment."""
        (value,) = batches(COLLECTION, [self.now_ms()], reports=reports, rng=np.random.default_rng(0))
        self.write(value, partition=partition)

    def expire(self, *, before: int, partition: int = 0) -> None:
        """Delete the records before an offset, as retention does."""
        self.beginning[self.all[partition]] = before

    def committed(self, partition: int = 0) -> Checkpoint:
        commit = self.commits[self.all[partition]]
        return Checkpoint.parse(commit.offset, commit.metadata)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"stream_ldp_{name}", labels)

    def of_kind(self, kind: str) -> list[Record]:
        return [record for record in self.published if self._kind(record) == kind]

    def _kind(self, record: Record) -> str:
        if record.topic == self.settings.topic_names.dead_letters("survey"):
            return "dead letter"
        assert record.topic == self.settings.topic_names.partials
        decoded = partials.decode(record.value)
        if isinstance(decoded, partials.Partial | partials.PartialGroup):
            return "partial"
        if not isinstance(decoded, partials.Watermark):
            return "saved"
        return "joining" if decoded.time_ms is None else "watermark"

    # As a producer.

    async def publish(self, records: Iterable[Record]) -> None:
        written = list(records)
        self.published += written
        if written:
            self.done.append(("publish", sorted({self._kind(each) for each in written})))

    # As a consumer and an administrator.

    @property
    def _client(self) -> Any:
        """A client with one connection, which counts how often it is closed."""
        return SimpleNamespace(_conns={(1, 0): SimpleNamespace(close=self._hang_up)})

    def _hang_up(self, *, reason: object) -> None:
        self.hung_up += 1

    def subscribe(self, topics: list[str], *, listener: Any) -> None:
        assert topics == [self.topic]

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        self.stopped = True

    def assignment(self) -> set[TopicPartition]:
        return self.assigned

    def partitions_for_topic(self, topic: str) -> set[int]:
        assert topic == self.topic
        return set(range(self.partitions))

    def gather(self, *, seconds: float, period: float) -> None:
        self.periods.append((self.now_ms(), period))
        self.leads.append(period - seconds)

    async def getmany(self, *_: TopicPartition, timeout_ms: int, max_records: int) -> dict[TopicPartition, Columns]:
        nothing = self.withheld or not any(len(self.log[each]) > self.place[each] for each in self.assigned)
        self.seconds += timeout_ms / 1_000 if self.waiting and nothing else self.turn_seconds
        self.waits_ms.append(timeout_ms)
        fetched, self.stale = self.stale, {}
        for partition in self.assigned - fetched.keys():
            begin = max(self.place[partition], self.beginning[partition])
            if not self.withheld and (records := self.log[partition][begin : begin + max_records]):
                fetched[partition] = records
                self.read += [record.offset for record in records]
                self.place[partition] = records[-1].offset + 1
        return {partition: Columns.of(records, faults=faults_of(records)) for partition, records in fetched.items()}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.place[partition] = offset

    def place_of(self, partition: TopicPartition) -> int | None:
        return self.place[partition]

    async def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: self.beginning[partition] for partition in partitions}

    async def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        if self.failing is not None:
            raise self.failing
        self.seconds += self.asking_seconds
        return {partition: len(self.log[partition]) for partition in partitions}

    async def offsets_for_times(self, times: dict[TopicPartition, int]) -> dict[TopicPartition, Any]:
        return {
            partition: next((each for each in self.log[partition] if each.timestamp >= time_ms), None)
            for partition, time_ms in times.items()
        }

    async def _offsets_since(
        self, settings: Settings, times_ms: dict[TopicPartition, int], *, ends: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        times = {key: [each.timestamp for each in self.log[key][:end]] for key, end in ends.items()}
        return {
            key: next((offset for offset, each in enumerate(times[key]) if each >= time_ms), ends[key])
            for key, time_ms in times_ms.items()
        }

    async def commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        if self.refusing is not None:
            self.done.append(("refused", None))
            raise self.refusing
        self.done.append(("commit", {each.partition: commit.offset for each, commit in offsets.items()}))
        self.commits |= offsets

    async def _send_request(self, request: DescribeTopics) -> Any:
        if self.failing is not None:
            raise self.failing
        described = [
            (0, name, *self._described(name)) if name in self.topics else (3, name, "", False, [])
            for name in request._topics
        ]
        return SimpleNamespace(topics=described)

    def _described(self, name: str) -> tuple[str, bool, list[None]]:
        topic_id, partitions = self.topics[name]
        return topic_id, False, [None] * partitions

    async def describe_consumer_groups(self, groups: list[str]) -> list[Any]:
        assert groups == [self.settings.group_names.ingest]
        metadata = Assignor.metadata([self.topic]).encode()
        described = ["", "", "Stable", "", "", [("", "", "", metadata, b"")] * self.members]
        return [SimpleNamespace(groups=[described])]

    async def find_coordinator(self, group: str) -> int:
        return 0

    async def list_consumer_group_offsets(
        self, group: str, *, group_coordinator_id: int, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        assert group == self.settings.group_names.ingest
        if self.failing is not None:
            raise self.failing
        return {partition: self.commits.get(partition, OffsetAndMetadata(-1, "")) for partition in partitions}
