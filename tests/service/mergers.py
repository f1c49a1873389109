"""Mergers without a broker: what they read and write, and what they merge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from aiokafka import TopicPartition

from stream_ldp.collection import Collection
from stream_ldp.kafka.fenced_producer import Fenced
from stream_ldp.kafka.memory import MemoryBroker, Stored
from stream_ldp.kafka.producer import Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.answer import Answer
from stream_ldp.pipeline.quarantine import LogEntry
from stream_ldp.pipeline.topic_identity import TopicIdentity
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.merger import Merger
from stream_ldp.service.metrics import Metrics
from tests.machines import simulation
from tests.pipeline.test_merging import partial, watermark
from tests.service.harness import SURVEY

SMALL, WIDE = (JointCollection.parse(SURVEY.format(name=name)) for name in ("small", "wide"))
MAKING = JointCollection.parse(
    SURVEY.format(name="making")
    + "  - {name: mobility, of: [mobility], every: 1ms}\nsynthesis: {records: 30, seed: 2, method: tree}\n"
)
SHY = JointCollection.parse(SURVEY.format(name="shy").replace("min_reports: 1", "min_reports: 3"))

#: Longest wait, in seconds, before a test fails.
SOON = 60.0


class Published:
    """A producer that keeps what it is given; the topics of answers are empty at first."""

    def __init__(self) -> None:
        self.holders: dict[str, Writer] = {}
        self.records: list[Record] = []
        self._news = asyncio.Event()

    async def publish(self, records: Iterable[Record]) -> None:
        self.records += records
        self._news.set()

    async def write(self, record: Record) -> int:
        await self.publish([record])
        return len(self.records) - 1

    def writer(self, collection: Collection) -> Writer:
        return Writer(self, collection.name)

    async def finals_of(self, collection: JointCollection, *, number: int) -> list[int]:
        """Wait for finals of a collection, and return their numbers of reports."""
        while True:
            self._news.clear()
            answers = [
                answer.reports
                for record in self.records
                if record.topic.endswith(".estimates")
                and (answer := Estimate.from_bytes(record.value)).collection == collection.name
            ]
            if len(answers) >= number:
                return answers
            await self._news.wait()


class Writer:
    """What writes final answers, as long as no other has taken their topic."""

    def __init__(self, published: Published, name: str) -> None:
        self.held = False
        self._published, self._name = published, name

    async def take(self) -> None:
        self._published.holders[self._name] = self
        self.held = True

    async def write(self, record: Record) -> int:
        if self._published.holders[self._name] is not self:
            self.held = False
            raise Fenced
        return await self._published.write(record)

    async def stop(self) -> None:
        self.held = False


class ReportsTopics:
    """A cluster whose reports topics have some partitions each, and which keeps commits."""

    topic = TopicIdentity(id="a1", partitions=1)

    def __init__(self) -> None:
        self._commits: dict[str, dict[TopicPartition, tuple[int, str]]] = {}

    async def identities(self, names: Sequence[str]) -> dict[str, TopicIdentity]:
        return dict.fromkeys(names, self.topic)

    def forget_commits(self) -> None:
        self._commits.clear()

    async def commit(self, group: str, commits: dict[TopicPartition, tuple[int, str]]) -> None:
        self._commits.setdefault(group, {}).update(commits)

    async def commits(self, group: str, _: object, **__: object) -> dict[TopicPartition, tuple[int, str]]:
        return self._commits.get(group, {})

    async def committed(self, *_: object) -> dict[TopicPartition, int]:
        return {}


async def tell(merger: Merger, collection: JointCollection, *, windows: int) -> None:
    """Let the merger read partials of so many windows, a report in each, and what closes them."""
    spec, size_ms = collection.estimates[0], collection.window.size_ms
    records: list[partials.Partial | partials.Watermark] = [
        partial(number + 1, collection=collection, spec=spec, pane_ms=number * size_ms) for number in range(windows)
    ]
    closes_ms = windows * size_ms + collection.window.grace_ms
    await read(merger, collection, *records, watermark(closes_ms, collection=collection))


async def read(merger: Merger, collection: JointCollection, *records: partials.Partial | partials.Watermark) -> None:
    """Let the merger read records of the partials topic."""
    for offset, record in enumerate(records):
        key, value = partials.encode(record, writer="w")
        await merger.apply(entry(collection, offset, key, value))


def entry(collection: JointCollection, offset: int, key: bytes, value: bytes | None) -> LogEntry:
    """Make a record of the partition of the partials topic that has a collection."""
    partition = partials.partition_of(collection.name, partitions=Settings.load().partials_partitions)
    return LogEntry.read("partials", partition, offset, key=key, value=value, fault=None)


async def rebuilt(merger: Merger) -> None:
    async with asyncio.timeout(SOON):
        while merger.problems():
            await asyncio.sleep(0)


class CountsReads(MemoryBroker):
    """A broker in memory that counts the records which are read."""

    reads = 0

    async def read(self, topic: str, offset: int, timeout_ms: int, most: int | None = None) -> list[Stored]:
        records = await super().read(topic, offset, timeout_ms, most)
        self.reads += len(records)
        return records


class OnTheLog(Published):
    """A producer that writes to a broker in memory."""

    def __init__(self, broker: MemoryBroker) -> None:
        super().__init__()
        self._broker = broker

    async def write(self, record: Record) -> int:
        self._broker.put(record.topic, record.value, key=record.key)
        await super().write(record)
        return self._broker.end(record.topic) - 1


class Installation:
    """A broker in memory, on which any number of mergers merge the small collection."""

    def __init__(self, metrics: Metrics) -> None:
        self.broker = CountsReads(topics=set(), now_ms=1)
        self.published = OnTheLog(self.broker)
        self._cluster = ReportsTopics()
        self._metrics = metrics

    def merger(self) -> Merger:
        return Merger(
            [SMALL],
            settings=Settings.load(),
            producer=self.published,  # type: ignore[arg-type]
            writers=self.published.writer,
            cluster=self._cluster,  # type: ignore[arg-type]
            metrics=self._metrics,
        )

    async def tell(self, record: partials.MergeRecord, *mergers: Merger) -> None:
        """Write a record of the partials topic, which some mergers read at once."""
        key, value = partials.encode(record, writer="w")
        topic = Settings.load().topic_names.partials
        self.broker.put(topic, value, key=key)
        for each in mergers:
            await each.apply(entry(SMALL, self.broker.end(topic) - 1, key, value))

    async def window(self, number: int, *mergers: Merger) -> None:
        """Let a window end in which some users reported."""
        spec, window = SMALL.estimates[0], SMALL.window
        pane_ms = number * window.size_ms
        await self.tell(partial(number % 7 + 1, collection=SMALL, spec=spec, pane_ms=pane_ms), *mergers)
        await self.tell(watermark(pane_ms + window.size_ms + window.grace_ms, collection=SMALL), *mergers)


def quick_answer(collection: JointCollection, task: WindowTask[Any, Any]) -> Answer:
    answer = simulation.answer(collection, task)
    about = {"collection": collection.name, "fingerprint": collection.fingerprint.hex(), "final": task.final}
    return answer.model_copy(update=about)
