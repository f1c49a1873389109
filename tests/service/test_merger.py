"""Tests of the merger without a broker: what must hold whatever Kafka does."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stream_ldp.kafka.fenced_producer import Fenced
from stream_ldp.kafka.memory import MemoryBroker, Stored, connected
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.answer import Status, is_provisional
from stream_ldp.pipeline.quarantine import LogEntry
from stream_ldp.pipeline.question import Question
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from stream_ldp.service import merger as merger_module
from stream_ldp.service.merger import Merger, PartitionsAdded
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.windows_log import AnswersLog
from stream_ldp.synthesis.chunk import SyntheticChunk
from tests.client.items import films
from tests.machines import simulation
from tests.pipeline.test_merging import partial, watermark
from tests.service.harness import SURVEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

    from aiokafka import TopicPartition

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.producer import Record
    from stream_ldp.pipeline.answer import Answer

SMALL, WIDE = (JointCollection.parse(SURVEY.format(name=name)) for name in ("small", "wide"))
MAKING = JointCollection.parse(
    SURVEY.format(name="making")
    + "  - {name: mobility, of: [mobility], every: 1ms}\nsynthesis: {records: 30, seed: 2, method: tree}\n"
)
SHY = JointCollection.parse(SURVEY.format(name="shy") + "min_reports: 3\n")

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
                and not is_provisional(record.key or b"")
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


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Published:
    async def empty(*_: object, **__: object) -> AsyncIterator[Any]:
        return
        yield

    async def none(*_: object) -> dict[str, int]:
        return {}

    monkeypatch.setattr(AnswersLog, "read", empty)
    monkeypatch.setattr(merger_module, "partials_log", empty)
    monkeypatch.setattr(merger_module, "released", none)
    return Published()


class ReportsTopics:
    """A cluster whose reports topics have some partitions each, and which keeps commits."""

    partitions = 1

    def __init__(self) -> None:
        self._commits: dict[str, dict[TopicPartition, tuple[int, str]]] = {}

    async def topics(self, names: Sequence[str]) -> dict[str, Any]:
        return {name: SimpleNamespace(partitions=self.partitions) for name in names}

    def forget_commits(self) -> None:
        self._commits.clear()

    async def commit(self, group: str, commits: dict[TopicPartition, tuple[int, str]]) -> None:
        self._commits.setdefault(group, {}).update(commits)

    async def commits(self, group: str, _: object) -> dict[TopicPartition, tuple[int, str]]:
        return self._commits.get(group, {})

    async def committed(self, *_: object) -> dict[TopicPartition, int]:
        return {}


@pytest.fixture
def reports_topics() -> ReportsTopics:
    return ReportsTopics()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(["small", "wide", "shy", "making"])


@pytest.fixture
async def merger(published: Published, reports_topics: ReportsTopics, metrics: Metrics) -> AsyncIterator[Merger]:
    merger = Merger(
        [SMALL, WIDE, SHY, MAKING],
        settings=Settings.load(),
        report_partitions={"small": 1, "wide": 1, "shy": 1, "making": 1},
        producer=published,  # type: ignore[arg-type]
        writers=published.writer,
        cluster=reports_topics,  # type: ignore[arg-type]
        metrics=metrics,
    )
    await merger.take_over(set(range(64)))
    yield merger
    await merger.on_stop()


@pytest.fixture
def finish(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let every solve of the wide collection last until this is set."""
    done = threading.Event()

    def slow(collection: JointCollection, question: Question[Any, Any]) -> Answer:
        if collection.name == "wide":
            done.wait()
        return quick_answer(collection, question)

    monkeypatch.setattr("stream_ldp.service.solver.solve", slow)
    yield done
    done.set()


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


async def test_finals_of_a_small_collection_do_not_wait_for_the_slow_solves_of_another(
    merger: Merger, published: Published, finish: threading.Event
) -> None:
    await tell(merger, WIDE, windows=2)
    await asyncio.sleep(0.1)
    await tell(merger, SMALL, windows=5)
    assert await asyncio.wait_for(published.finals_of(SMALL, number=5), SOON) == [1, 2, 3, 4, 5]
    assert len(published.records) == 5
    finish.set()
    assert await asyncio.wait_for(published.finals_of(WIDE, number=2), SOON) == [1, 2]


async def test_the_event_loop_turns_at_least_once_for_each_final_of_a_backlog(
    merger: Merger, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_ldp.service.solver.solve", quick_answer)
    await tell(merger, SMALL, windows=50)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    finals = await asyncio.wait_for(published.finals_of(SMALL, number=50), SOON)
    counting.cancel()
    assert finals == list(range(1, 51))
    assert turns > 50


async def rebuilt(merger: Merger) -> None:
    async with asyncio.timeout(SOON):
        while merger.problems():
            await asyncio.sleep(0)


async def test_junk_becomes_a_dead_letter_that_names_its_place(merger: Merger, published: Published) -> None:
    await rebuilt(merger)
    await merger.apply(entry(SMALL, 7, b"junk", b"junk"))
    letters = {record.topic: dict(record.headers) for record in published.records}
    # Both collections have the same partition, and it is not known which of them it is about.
    headers = letters["stream-ldp.small.dead-letters"]
    assert (headers["reason"], headers["source-topic"], headers["source-offset"]) == (
        b"unreadable_record",
        b"partials",
        b"7",
    )
    assert merger.problems() == []


async def test_finals_held_back_are_a_problem_until_they_are_released(
    merger: Merger, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def everything(*_: object) -> dict[str, int]:
        return {"partials": 1_000}

    monkeypatch.setattr(merger_module, "RELEASE_SECONDS", 0.01)
    await rebuilt(merger)
    key, _ = partials.encode(partial(9, collection=SMALL, spec=SMALL.estimates[0]), writer="w")
    await merger.apply(entry(SMALL, 0, key, None))
    record = watermark(10_000, collection=SMALL)
    await merger.apply(entry(SMALL, 1, *partials.encode(record, writer="w")))
    async with asyncio.timeout(SOON):
        while not merger.problems():
            await asyncio.sleep(0.01)
    (problem,) = merger.problems()
    assert problem.startswith("small: finals are held back by a record that cannot be read")
    assert "offset 0: it has no value" in problem
    monkeypatch.setattr(merger_module, "released", everything)
    await rebuilt(merger)


async def test_a_partition_that_has_been_added_is_no_junk_and_ends_the_worker_with_the_cure(
    merger: Merger, reports_topics: ReportsTopics
) -> None:
    await rebuilt(merger)
    record = partial(5, collection=SMALL, spec=SMALL.estimates[0], partition=1)
    key, value = partials.encode(record, writer="w")
    await merger.apply(entry(SMALL, 0, key, value))
    reports_topics.partitions = 2
    with pytest.raises(PartitionsAdded, match=r"small\.reports has 2 partitions, and had 1 .*: start it again"):
        await merger.apply(entry(SMALL, 1, key, value))


async def test_of_a_window_with_fewer_reports_than_the_least_nothing_is_published(
    merger: Merger, published: Published, metrics: Metrics
) -> None:
    await tell(merger, SHY, windows=5)  # of one to five reports
    assert await asyncio.wait_for(published.finals_of(SHY, number=3), SOON) == [3, 4, 5]
    assert {Estimate.from_bytes(record.value).reports for record in published.records} == {3, 4, 5}
    assert metrics.windows_withheld.labels("shy")._value.get() == 2


async def test_a_window_without_reports_is_said_counted_and_logged_and_the_next_final_follows_it(
    merger: Merger, published: Published, caplog: pytest.LogCaptureFixture
) -> None:
    await tell(merger, SMALL, windows=1)
    await asyncio.wait_for(published.finals_of(SMALL, number=1), SOON)
    size_ms = SMALL.window.size_ms
    await read(merger, SMALL, watermark(3 * size_ms + SMALL.window.grace_ms, collection=SMALL))
    assert await asyncio.wait_for(published.finals_of(SMALL, number=2), SOON) == [1, 0]
    silent = Estimate.from_bytes(published.records[-1].value)
    assert (silent.status, silent.window.start_ms, silent.window.end_ms) == (Status.NO_REPORTS, size_ms, 2 * size_ms)
    await read(
        merger,
        SMALL,
        partial(3, collection=SMALL, spec=SMALL.estimates[0], pane_ms=4 * size_ms),
        watermark(5 * size_ms + SMALL.window.grace_ms, collection=SMALL),
    )
    assert await asyncio.wait_for(published.finals_of(SMALL, number=4), SOON) == [1, 0, 0, 3]
    rest = Estimate.from_bytes(published.records[-2].value)
    assert (rest.window.start_ms, rest.window.end_ms) == (2 * size_ms, 4 * size_ms)
    assert Estimate.from_bytes(published.records[-1].value).fit.start == "previous"
    assert merger._metrics.windows_silent.labels("small")._value.get() == 2
    assert merger._metrics.epochs_without_result.labels("small")._value.get() == 0
    assert merger._metrics.last_final.labels("small")._value.get() > 1e9
    assert "small/bathing-mobility: nobody reported in 1970-01-01T00:00:02Z/1970-01-01T00:00:04Z" in caplog.text


async def test_what_is_merged_and_each_final_answer_is_logged_once_with_its_fields(
    merger: Merger, published: Published, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="stream_ldp"):
        await merger.give_up(set(range(64)))
        await merger.take_over(set(range(64)))
        await tell(merger, SMALL, windows=2)
        await asyncio.wait_for(published.finals_of(SMALL, number=2), SOON)
        await asyncio.sleep(0)
    lines = [each for each in caplog.records if each.__dict__.get("collection") == "small"]
    assert [each.getMessage() for each in lines[:2]] == ["small: gives up its windows", "small: merges its windows"]
    finals = [each for each in lines if "reports" in each.__dict__]
    assert [each.__dict__["reports"] for each in finals] == [1, 2]
    assert (
        finals[1]
        .getMessage()
        .startswith(
            "small/bathing-mobility: final answer of 1970-01-01T00:00:02Z/1970-01-01T00:00:04Z, from 2 reports, "
        )
    )


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
            report_partitions={"small": 1},
            producer=self.published,  # type: ignore[arg-type]
            writers=self.published.writer,
            cluster=self._cluster,  # type: ignore[arg-type]
            metrics=self._metrics,
        )

    async def tell(self, record: partials.Partial | partials.Watermark, *mergers: Merger) -> None:
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


@pytest.fixture
def installation(metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """An installation whose solves take no time; what has been shut out comes back at once."""
    monkeypatch.setattr("stream_ldp.service.solver.solve", quick_answer)
    monkeypatch.setattr(merger_module, "YIELD_SECONDS", 0.0)
    installation = Installation(metrics)
    with connected(installation.broker):
        yield installation


async def test_two_workers_that_merge_a_collection_side_by_side_publish_each_final_once(
    installation: Installation,
) -> None:
    mergers = [installation.merger(), installation.merger()]
    for each in mergers:
        await each.take_over(set(range(64)))
        await rebuilt(each)
    for number in range(30):
        await installation.window(number, *mergers)
    async with asyncio.timeout(SOON):
        for each in mergers:
            while not each._owned["small"].merge.has_final(29 * SMALL.window.size_ms):
                await asyncio.sleep(0)
    for each in mergers:
        await each.on_stop()
    finals = await installation.published.finals_of(SMALL, number=30)
    assert finals == [number % 7 + 1 for number in range(30)]


async def test_a_worker_that_was_frozen_publishes_no_final_that_its_successor_has_published(
    installation: Installation,
) -> None:
    frozen, successor = installation.merger(), installation.merger()
    await frozen.take_over(set(range(64)))
    await rebuilt(frozen)
    await installation.window(0, frozen)
    await asyncio.wait_for(installation.published.finals_of(SMALL, number=1), SOON)
    await successor.take_over(set(range(64)))
    await rebuilt(successor)
    await installation.window(1, successor)
    await asyncio.wait_for(installation.published.finals_of(SMALL, number=2), SOON)
    partials_topic = Settings.load().topic_names.partials
    for offset, record in enumerate(installation.broker.available(partials_topic)):
        await frozen.apply(entry(SMALL, offset, record.key or b"", record.value))
    async with asyncio.timeout(SOON):
        while not frozen._owned["small"].merge.has_final(SMALL.window.size_ms):
            await asyncio.sleep(0)
    # What comes next is published by whichever is first.
    await installation.window(2, frozen)
    assert await asyncio.wait_for(installation.published.finals_of(SMALL, number=3), SOON) == [1, 2, 3]
    for each in (frozen, successor):
        await each.on_stop()


async def test_a_final_that_came_before_its_worker_was_shut_out_is_not_published_again(
    installation: Installation, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, merger = Installation(metrics), installation.merger()
    with connected(other.broker):
        quick = other.merger()
        await quick.take_over(set(range(64)))
        await rebuilt(quick)
        await other.window(0, quick)
        await asyncio.wait_for(other.published.finals_of(SMALL, number=1), SOON)
        await quick.on_stop()
    (final,) = [each for each in other.published.records if not is_provisional(each.key)]
    take = Writer.take

    async def late(writer: Writer) -> None:
        await installation.published.write(final)
        await take(writer)

    monkeypatch.setattr(Writer, "take", late)
    await merger.take_over(set(range(64)))
    await rebuilt(merger)
    await installation.window(0, merger)
    async with asyncio.timeout(SOON):
        while not merger._owned["small"].merge.has_final(0):
            await asyncio.sleep(0)
    await merger.on_stop()
    assert await installation.published.finals_of(SMALL, number=1) == [1]


async def records_of_a_restart(windows: int, metrics: Metrics) -> int:
    """Return the number of records that a merger reads when it starts after so many windows, and one open one."""
    spec, size_ms = SMALL.estimates[0], SMALL.window.size_ms
    installation = Installation(metrics)
    broker, published = installation.broker, installation.published
    with connected(broker):
        first = installation.merger()
        await first.take_over(set(range(64)))
        await rebuilt(first)
        for number in range(windows):
            await installation.window(number, first)
            await asyncio.wait_for(published.finals_of(SMALL, number=number + 1), SOON)
        await installation.tell(partial(5, collection=SMALL, spec=spec, pane_ms=windows * size_ms), first)
        async with asyncio.timeout(SOON):
            while first._owned["small"].committed != first._owned["small"].merge.checkpoint:
                await asyncio.sleep(0)
        await first.on_stop()
        broker.reads = 0
        second = installation.merger()
        await second.take_over(set(range(64)))
        await rebuilt(second)
        closes_ms = (windows + 1) * size_ms + SMALL.window.grace_ms
        await installation.tell(watermark(closes_ms, collection=SMALL), second)
        finals = await asyncio.wait_for(published.finals_of(SMALL, number=windows + 1), SOON)
        assert finals == [*(number % 7 + 1 for number in range(windows)), 5]
        await second.on_stop()
    return broker.reads


def quick_answer(collection: JointCollection, question: Question[Any, Any]) -> Answer:
    answer = simulation.answer(collection, question)
    about = {"collection": collection.name, "fingerprint": collection.fingerprint.hex(), "final": question.final}
    return answer.model_copy(update=about)


async def test_a_restart_reads_as_much_after_fifty_windows_as_after_ten(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merger_module, "COMMIT_SECONDS", 0.0)
    monkeypatch.setattr("stream_ldp.service.solver.solve", quick_answer)
    few, many = [await records_of_a_restart(windows, metrics) for windows in (10, 50)]
    assert few == many < 10


def counted(collection: JointCollection, *, reports: int, pane_ms: int) -> list[partials.Partial]:
    """All partials of a pane: those of the estimates, and of the whole reports."""
    rows = np.random.default_rng(pane_ms).integers(2, size=(reports, collection.bits), dtype=np.uint8)
    layout = JointLayout(collection)
    tallies = layout.tallies()
    layout.count(tallies, np.packbits(rows, axis=1, bitorder="little"))
    return [
        replace(
            partial(reports, collection=collection, spec=collection.estimates[0], pane_ms=pane_ms),
            of=of,
            counts=tally.take_changed(closing=True)[0],
        )
        for of, tally in tallies.items()
    ]


async def chunks_of(published: Published, *, number: int) -> list[tuple[bytes, bytes]]:
    async with asyncio.timeout(SOON):
        while True:
            found = [(each.key, each.value) for each in published.records if each.topic.endswith(".making.records")]
            if len(found) >= number:
                return found
            await asyncio.sleep(0.01)


async def test_records_follow_the_first_final_of_a_window_and_nothing_else(
    merger: Merger, published: Published
) -> None:
    size_ms = MAKING.window.size_ms
    await read(merger, MAKING, *counted(MAKING, reports=40, pane_ms=0), *counted(MAKING, reports=50, pane_ms=size_ms))
    closes_ms = size_ms + MAKING.window.grace_ms
    await read(merger, MAKING, watermark(closes_ms, collection=MAKING))
    ((key, value),) = await chunks_of(published, number=1)
    chunk = SyntheticChunk.from_bytes(value)
    assert key == chunk.key == b"tree-30-2-0|final|0"
    assert (chunk.reports, len(chunk.records), chunk.window.end_ms) == (40, 30, size_ms)
    finals = await asyncio.wait_for(published.finals_of(MAKING, number=2), SOON)
    assert finals == [40, 40]
    assert merger._metrics.synthetic_records_published.labels("making")._value.get() == 30
    keys = [each.key for each in published.records if not is_provisional(each.key or b"")]
    assert keys == [b"bathing-mobility|final|0", key, b"mobility|final|0"]
    provisional = [each for each in published.records if is_provisional(each.key or b"")]
    assert {each.topic for each in provisional} <= {"stream-ldp.making.estimates"}


async def test_records_whose_owner_died_before_publishing_them_are_published_by_the_next(
    merger: Merger, published: Published, reports_topics: ReportsTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    size_ms = MAKING.window.size_ms
    parts: list[partials.Partial | partials.Watermark] = [
        *counted(MAKING, reports=40, pane_ms=0),
        watermark(size_ms + MAKING.window.grace_ms, collection=MAKING),
    ]
    await read(merger, MAKING, *parts)
    before = await chunks_of(published, number=1)
    await asyncio.wait_for(published.finals_of(MAKING, number=2), SOON)
    finals = [each for each in published.records if each.topic.endswith(".making.estimates")]

    async def answers(log: AnswersLog) -> AsyncIterator[Any]:
        if log._merge.collection is MAKING:
            log._merge.decide(Estimate.from_bytes(finals[0].value))
        return
        yield

    async def log(name: str, **_: object) -> AsyncIterator[LogEntry]:
        for offset, record in enumerate(parts if name == "making" else []):
            yield entry(MAKING, offset, *partials.encode(record, writer="w"))

    monkeypatch.setattr(AnswersLog, "read", answers)
    monkeypatch.setattr(merger_module, "partials_log", log)
    await merger.give_up(set(range(64)))
    reports_topics.forget_commits()
    published.records.clear()
    await merger.take_over(set(range(64)))
    assert await chunks_of(published, number=1) == before
    assert await asyncio.wait_for(published.finals_of(MAKING, number=1), SOON) == [40]
    assert [each.topic for each in published.records] == ["stream-ldp.making.records", "stream-ldp.making.estimates"]


async def test_records_of_a_window_that_is_forgotten_are_not_published_again(
    merger: Merger, published: Published
) -> None:
    size_ms = MAKING.window.size_ms
    await read(merger, MAKING, *counted(MAKING, reports=40, pane_ms=0))
    await read(merger, MAKING, watermark(5 * size_ms, collection=MAKING))
    await chunks_of(published, number=1)
    await asyncio.wait_for(published.finals_of(MAKING, number=2), SOON)
    merge = merger._owned["making"].merge
    async with asyncio.timeout(SOON):
        while merge.panes:
            await asyncio.sleep(0)
    assert not merge.holds(0)
    assert merge.holds(5 * size_ms)


@pytest.mark.parametrize(("windows", "ended"), [(1, 1), (4, 2), (7, 3)])
def test_epochs_without_a_result_are_counted_by_what_their_silence_spans(windows: int, ended: int) -> None:
    collection = films()  # three phases, of a minute each
    first, later, size_ms = collection.series[0], collection.series[1], collection.window.size_ms
    silent = question_of(first, silent_until_ms=windows * size_ms)
    assert merger_module._epochs_ended(collection, silent) == ended
    assert merger_module._epochs_ended(collection, question_of(later, silent_until_ms=None)) == 1
    assert merger_module._epochs_ended(SMALL, question_of(SMALL.estimates[0], silent_until_ms=None)) == 0


def question_of(series: Any, *, silent_until_ms: int | None) -> Question[Any, Any]:
    """Make a question about a window in which nobody reported."""
    return Question(
        series=series,
        window_ms=0,
        final=True,
        windows=((1.0, ()),),
        before=None,
        silent_until_ms=silent_until_ms,
    )
