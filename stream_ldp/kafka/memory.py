"""A broker in memory: clients inside `connected` write to it and read from it, in a time that the caller lets pass.

It has what the clients of this package use of aiokafka, and keeps all that it is sent. So an audit runs the clients
unchanged and sees everything that leaves them.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

#: Time that passes, in milliseconds, while a consumer looks for one record.
POLL_MS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """A record as a producer handed it over, and when, in milliseconds since 1970-01-01 UTC.

    others: whatever else was handed over with it, such as headers, a partition or a time.
    """

    topic: str
    key: bytes | None
    value: bytes
    at_ms: int
    others: tuple[tuple[str, Any], ...] = ()


class Stored(NamedTuple):
    """A record on a topic, and when it was appended, in milliseconds since 1970-01-01 UTC."""

    at_ms: int
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(kw_only=True)
class MemoryBroker:
    """A broker that keeps what it is sent and acknowledges it at once.

    topics: names of the topics that exist.
    now_ms: the time; it passes while a consumer waits for records, and as the caller sets it.
    end_ms: time from which consumers wait without end, and `ended` is set.
    on_send: called with every record, before it is acknowledged.
    on_wait: called whenever time has passed while a consumer waits.
    sent: all records that were produced.
    producers: the options of every producer.
    beginnings: by topic, the offset before which all records have been deleted; 0 for others.
    held: number of blocks in which no time passes; see `hold_time`.
    """

    topics: set[str]
    now_ms: int
    end_ms: int | None = None
    on_send: Callable[[Sent], None] | None = None
    on_wait: Callable[[], None] | None = None
    sent: list[Sent] = field(default_factory=list)
    producers: list[dict[str, Any]] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    beginnings: dict[str, int] = field(default_factory=dict)
    held: int = 0
    _logs: dict[str, list[Stored]] = field(default_factory=dict)

    def clock(self) -> int:
        """Return the time, in milliseconds since 1970-01-01 UTC."""
        return self.now_ms

    def put(
        self,
        topic: str,
        value: bytes,
        *,
        key: bytes | None = None,
        at_ms: int | None = None,
        headers: tuple[tuple[str, bytes], ...] = (),
    ) -> None:
        """Put a record on a topic for consumers, now or later; the records of a topic are put in order of time."""
        stored = Stored(self.now_ms if at_ms is None else at_ms, key, value, headers)
        self._logs.setdefault(topic, []).append(stored)

    def receive(self, topic: str, *, key: bytes | None, value: bytes, **others: Any) -> None:
        """Take a record from a producer."""
        record = Sent(topic=topic, key=key, value=value, at_ms=self.now_ms, others=tuple(sorted(others.items())))
        if self.on_send is not None:
            self.on_send(record)
        self.sent.append(record)

    async def read(self, topic: str, offset: int, timeout_ms: int, most: int | None = None) -> list[Stored]:
        """Return the records from an offset on, or let so much time pass and return those that came meanwhile.

        most: number of records to return at most.
        """
        while self.held and self.end(topic) <= offset and timeout_ms:  # noqa: ASYNC110  the others are soon done
            await asyncio.sleep(0)
        if self.end(topic) <= offset and timeout_ms:
            if self.end_ms is not None and self.now_ms >= self.end_ms:
                self.ended.set()
                await asyncio.Event().wait()
            coming = [each.at_ms for each in self._logs.get(topic, ())[offset : offset + 1]]
            ends = [] if self.end_ms is None else [self.end_ms]
            self.now_ms = max(self.now_ms, min([self.now_ms + timeout_ms, *ends, *coming]))
            if self.on_wait is not None:
                self.on_wait()
        await asyncio.sleep(0)
        end = self.end(topic) if most is None else min(self.end(topic), offset + most)
        return self._logs.get(topic, [])[offset:end]

    def end(self, topic: str) -> int:
        """Return the number of records of a topic that are there by now."""
        return bisect_right(self._logs.get(topic, []), self.now_ms, key=lambda record: record.at_ms)

    def available(self, topic: str) -> list[Stored]:
        """Return the records of a topic that are there by now."""
        return self._logs.get(topic, [])[: self.end(topic)]


#: The broker in memory that clients use instead of those of their settings, if any.
CONNECTED: ContextVar[MemoryBroker | None] = ContextVar("connected", default=None)


@contextmanager
def connected(broker: MemoryBroker) -> Iterator[MemoryBroker]:
    """Let all clients that connect inside the block, also in its tasks, use this broker, whatever their settings."""
    token = CONNECTED.set(broker)
    try:
        yield broker
    finally:
        CONNECTED.reset(token)


@contextmanager
def hold_time() -> Iterator[bool]:
    """Let no time pass inside the block if clients use a broker in memory; the block is given whether they do.

    Time there passes as soon as a consumer waits: users who have yet to report would find the round closed.
    """
    broker = CONNECTED.get()
    if broker is None:
        yield False
        return
    broker.held += 1
    try:
        yield True
    finally:
        broker.held -= 1


class MemoryProducer:
    """The part of aiokafka's producer that clients use, on a broker in memory."""

    def __init__(self, broker: MemoryBroker, options: dict[str, Any]) -> None:
        self._broker = broker
        self._sender = SimpleNamespace(close=self.stop)
        self.client = SimpleNamespace(fetch_all_metadata=self._metadata, close=self.stop)
        broker.producers.append(options)

    async def start(self) -> None:
        """Connect."""

    async def stop(self) -> None:
        """Disconnect."""

    async def send(self, topic: str, *, key: bytes | None, value: bytes, **others: Any) -> asyncio.Future[None]:
        """Hand over a record, which is acknowledged."""
        self._broker.receive(topic, key=key, value=value, **others)
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        acknowledged.set_result(None)
        return acknowledged

    async def partitions_for(self, topic: str) -> set[int]:  # noqa: ARG002  it is the same for all
        """Return the number of the only partition of a topic."""
        return {0}

    def create_batch(self) -> MemoryBatch:
        """Return an empty batch."""
        return MemoryBatch()

    async def send_batch(self, batch: MemoryBatch, topic: str, *, partition: int) -> asyncio.Future[None]:
        """Hand over all records of a batch; see `send`."""
        return [await self.send(topic, partition=partition, **each) for each in batch.records][-1]

    async def _metadata(self) -> Any:
        return SimpleNamespace(topics=lambda: self._broker.topics)


class MemoryBatch:
    """The part of aiokafka's batch that clients use: the arguments of `MemoryProducer.send` for each record."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def append(self, *, timestamp: int, **others: Any) -> bool:
        """Add a record, for which there always is room."""
        self.records.append({"timestamp_ms": timestamp, **others})
        return True

    def close(self) -> None:
        """Take no more records."""


class MemoryConsumer:
    """The part of aiokafka's consumer that clients without a group use, on a broker in memory."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker
        self._offset = 0
        self._partition: Any = None

    async def start(self) -> None:
        """Connect."""

    async def stop(self) -> None:
        """Disconnect."""

    async def topics(self) -> set[str]:
        """Return the names of all topics."""
        return self._broker.topics

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the number of the only partition of a topic; None if there is no such topic."""
        return {0} if topic in self._broker.topics else None

    def assign(self, partitions: list[Any]) -> None:
        """Read this partition, from its beginning."""
        (self._partition,) = partitions
        self._offset = self._broker.beginnings.get(self._partition.topic, 0)

    def seek(self, partition: Any, offset: int) -> None:  # noqa: ARG002
        """Read on at this offset."""
        self._offset = offset

    async def position(self, partition: Any) -> int:  # noqa: ARG002
        """Return the offset of the record that is read next."""
        return self._offset

    async def end_offsets(self, partitions: list[Any]) -> dict[Any, int]:
        """Return the offset after the last record."""
        return {partition: self._broker.end(partition.topic) for partition in partitions}

    async def beginning_offsets(self, partitions: list[Any]) -> dict[Any, int]:
        """Return the offset of the oldest record."""
        return {partition: self._broker.beginnings.get(partition.topic, 0) for partition in partitions}

    async def offsets_for_times(self, times: dict[Any, int]) -> dict[Any, Any]:
        """Return the first record of this time or later, for each partition."""
        found: dict[Any, Any] = {}
        for partition, since_ms in times.items():
            records = self._broker.available(partition.topic)
            later = [
                offset
                for offset, record in enumerate(records)
                if record.at_ms >= since_ms and offset >= self._broker.beginnings.get(partition.topic, 0)
            ]
            found[partition] = SimpleNamespace(offset=later[0]) if later else None
        return found

    async def getone(self) -> Any:
        """Return the next record, once it has come."""
        while True:
            found = await self.getmany(self._partition, timeout_ms=POLL_MS, max_records=1)
            for record in found[self._partition]:
                return record

    async def getmany(
        self,
        partition: Any,
        *,
        timeout_ms: int,
        max_records: int | None = None,
    ) -> dict[Any, list[Any]]:
        """Return the next records, or none after so many milliseconds."""
        records = await self._broker.read(partition.topic, self._offset, timeout_ms, max_records)
        found = [
            SimpleNamespace(
                topic=partition.topic,
                partition=0,
                offset=self._offset + place,
                timestamp=record.at_ms,
                key=record.key,
                value=record.value,
                headers=record.headers,
            )
            for place, record in enumerate(records)
        ]
        self._offset += len(found)
        return {partition: found}
