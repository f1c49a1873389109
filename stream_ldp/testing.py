"""The test kit of an application: Kafka in memory, and a worker that answers on demand.

No broker, no port and no waiting are needed. Inside the block, all reporters, subscribers and queries of the package
use the Kafka in memory, whatever their settings.

    from stream_ldp import Reporter, load_collection, query
    from stream_ldp.testing import kafka_in_memory

    async def test_the_survey_is_answered() -> None:
        survey = load_collection("survey.yaml")
        with kafka_in_memory(survey) as kafka:
            async with Reporter(survey, settings=kafka.settings, clock=kafka.clock) as reporter:
                await reporter.report_many([survey.encode({"bathing": "no", "mobility": "some"})] * 500, secrets=None)
            kafka.close_windows()
            (estimate,) = query("care-survey", settings=kafka.settings)
            assert estimate.reports == 500
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stream_ldp.collection import Collection
from stream_ldp.kafka.memory import MemoryBroker, Sent, connected
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import kind_of
from stream_ldp.merge_step import MergeStep, next_round
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.content_type import REGISTRATION
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.rejection import Rejected
from stream_ldp.pipeline.rows import published_rows
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.windows import closes_at, pane_of
from stream_ldp.service.dead_letters import dead_letter, refused_of

__all__ = ["KafkaInMemory", "kafka_in_memory"]


class KafkaInMemory:
    """Kafka in memory, with the topics of some collections and a worker for each.

    settings: those with which clients reach it.
    refused: why batches were refused, in the order in which `close_windows` came to them.
    """

    def __init__(self, *collections: Collection, now_ms: int) -> None:
        """Begin with empty topics. Applications call `kafka_in_memory` instead."""
        self.settings = Settings(brokers="memory:1")
        self.refused: list[Rejected] = []
        names = self.settings.topic_names
        specs = topic_specs(collections, prefix=names.prefix, partials_partitions=1)
        self._broker = MemoryBroker(
            topics={spec.name for spec in specs}, now_ms=now_ms, on_send=self._append, on_wait=self._ask_on
        )
        self._workers = {
            each.name: _Worker(each, broker=self._broker, settings=self.settings) for each in collections
        }
        self._answered: list[Any] = []
        for collection in collections:
            registered = Registration.of(collection)
            self._broker.put(names.collections, registered.value, key=registered.key, headers=REGISTRATION)

    @property
    def broker(self) -> MemoryBroker:
        """The broker, which keeps all records that it was sent."""
        return self._broker

    def clock(self) -> int:
        """Return its time, in milliseconds since 1970-01-01 UTC; it passes by `advance` and `close_windows` alone.

        Give it to reporters as their `clock`, so that what they report is of this time.
        """
        return self._broker.now_ms

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._broker.now_ms += round(1_000 * seconds)

    def batches(self, collection: str) -> list[bytes]:
        """Return the batches that a collection was sent, in order, as bytes."""
        topic = self.settings.topic_names.reports(collection)
        return [record.value for record in self._broker.available(topic)]

    def reports(self, collection: str) -> int:
        """Return the number of reports that a collection was sent, counted or not."""
        headers = map(wire.Header.of, self.batches(collection))
        return sum(header.count for header in headers if header is not None)

    def close_windows(self) -> list[Any]:
        """Let time pass until all windows with reports have closed, and return the final answers that are published.

        The answers are those that a worker would publish, in the same order. Rounds are closed earlier, while users
        wait for the next one: these answers come first.
        """
        answers, self._answered = self._answered, []
        return answers + [answer for worker in self._workers.values() for answer in worker.close(self.refused)]

    def _ask_on(self) -> None:
        """Close the rounds that are over by now, so that users who wait for the next round are asked it."""
        for worker in self._workers.values():
            if worker.asks_in_rounds:
                self._answered += worker.close(self.refused, until_ms=self.clock())

    def _append(self, record: Sent) -> None:
        self._broker.put(
            record.topic, record.value, key=record.key, headers=tuple(dict(record.others).get("headers", ()))
        )


@contextmanager
def kafka_in_memory(*collections: Collection, now_ms: int | None = None) -> Iterator[KafkaInMemory]:
    """Let all clients inside the block use a Kafka in memory.

    collections: those whose topics it has, and which are registered with it.
    now_ms: its time at the beginning, in milliseconds since 1970-01-01 UTC; None for the time of day.

    >>> from stream_ldp import Reporter, SyncReporter, parse_collection, query
    >>> survey = parse_collection('''
    ... collection: survey
    ... mechanism: {kind: k-rr, epsilon: 2}
    ... attributes: [{name: bathing, values: [no, yes]}]
    ... window: {size: 60s}
    ... estimates: [{name: bathing, of: [bathing]}]
    ... ''')
    >>> with kafka_in_memory(survey) as kafka:
    ...     with SyncReporter(Reporter(survey, settings=kafka.settings, clock=kafka.clock)) as reporter:
    ...         _ = reporter.report_many([{"bathing": "no"}] * 500, secrets=None)
    ...     _ = kafka.close_windows()
    ...     (estimate,) = query("survey", settings=kafka.settings)
    >>> estimate.reports
    500
    """
    kafka = KafkaInMemory(*collections, now_ms=time.time_ns() // 1_000_000 if now_ms is None else now_ms)
    with connected(kafka.broker):
        yield kafka


class _Worker:
    """A worker for one collection: the same counts, merge and solver as the service has, one step at a time."""

    def __init__(self, collection: Collection, *, broker: MemoryBroker, settings: Settings) -> None:
        self._collection = collection
        self._broker = broker
        self._names = settings.topic_names
        self._source = SourcePartition(collection, kind_of(collection).layout(collection), partition=0)
        self._source.take_changes()  # the claim of the partition
        self._merge = Merge(collection, partitions=1)
        self._has_open = False  # whether reports were counted since windows closed

    @property
    def asks_in_rounds(self) -> bool:
        return kind_of(self._collection).rounds is not None

    def close(self, refused: list[Rejected], *, until_ms: float = math.inf) -> list[Any]:
        self._has_open = self._count(refused) or self._has_open
        if not self._has_open or (newest := self._source.watermark_ms) is None:
            return []
        window = self._collection.window
        # The last window that the newest report is part of ends a window's length after its pane begins.
        closes = closes_at(pane_of(newest, window), window) + window.size_ms - window.pane_ms
        if (idle_ms := closes + (window.idle_timeout_ms or 0)) > until_ms:
            return []
        self._has_open = False
        self._broker.now_ms = max(self._broker.now_ms, idle_ms)
        self._source.advance_idle(closes)
        changes = self._source.take_changes()
        if changes is not None:
            for record in (*changes.partials, *((changes.watermark,) if changes.watermark else ())):
                self._merge.apply(record)
        return list(self._finals())

    def _count(self, refused: list[Rejected]) -> bool:
        """Count what has come since, and return whether anything has."""
        topic, begin = self._names.reports(self._collection.name), self._source.position
        records = self._broker.available(topic)[begin:]
        if not records:
            return False
        offsets = range(begin, begin + len(records))
        counted = self._source.count(
            offsets, [record.at_ms for record in records], [record.value for record in records]
        )
        refused += [why for _, why in counted.rejected]
        for alike, why in refused_of(topic, 0, offsets, [record.value for record in records], counted.rejected):
            letter = dead_letter(
                alike, why, collection=self._collection, topic=self._names.dead_letters(self._collection.name)
            )
            self._broker.put(letter.topic, letter.value, key=letter.key, headers=letter.headers)
        return True

    def _finals(self) -> Iterator[Any]:
        name = self._collection.name
        while (step := MergeStep.due(self._merge)) is not None:
            if step.is_withheld():
                step.skip(self._merge)
                continue
            answer = step.solve()
            self._put(self._names.answers(self._collection), answer)
            if self._collection.rows:
                for row in published_rows(answer, self._collection.rows, labels=self._collection.labels):
                    self._put(self._names.rows(self._collection), row)
            if (asked := next_round(self._collection, answer)) is not None:
                self._source.learn(asked.layout)
                self._put(self._names.rounds(name), asked.message)
            records = step.decide(self._merge, answer)
            if records is not None and records.are_due:
                for chunk in records.chunks():
                    self._put(self._names.records(name), chunk)
            yield answer
        self._merge.forget()

    def _put(self, topic: str, message: Any) -> None:
        self._broker.put(topic, message.to_bytes(), key=message.key, headers=message.headers)
