"""Read what topics hold by librdkafka, a client that shares no code with the service, as they grow."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

#: What is added to the offsets of a log for each time that it has begun again, or gone on from a place that it had
#: passed: so every record that ever was has a place of its own.
LIFE = 10**9

#: Seconds within which topics have to be read to their end.
READ_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Logged:
    """A record of a topic.

    appended_ms: when the broker appended it, by its clock, in milliseconds since 1970-01-01 UTC, or its own time.
    headers: None if the name of one is not UTF-8, so that Kafka's other clients cannot read the record.
    """

    partition: int
    offset: int
    appended_ms: int
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...] | None


class Logs:
    """All that ever was on some topics and has been seen, also of topics that have lost or forgotten it."""

    def __init__(self, brokers: str) -> None:
        self._brokers = brokers
        self._next: dict[tuple[str, int], int] = {}
        self._lives: dict[tuple[str, int], int] = defaultdict(int)
        self._records: dict[tuple[str, int], dict[int, Logged]] = {}

    def add(self, topic: str, *, partitions: int) -> None:
        """Read so many partitions of a topic from now on."""
        for partition in range(partitions):
            self._next.setdefault((topic, partition), 0)
            self._records.setdefault((topic, partition), {})

    def begin_life(self, topic: str, ends: Mapping[int, int]) -> None:
        """Note that partitions have lost all from an offset on, so that other records take those places."""
        for partition, end in ends.items():
            self._lives[topic, partition] += 1
            self._next[topic, partition] = end

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""
        return sum(name == topic for name, _ in self._next)

    def ends(self, topic: str) -> dict[int, int]:
        """Return, by partition, the offset behind the last record that has been seen, as the log counts now."""
        return {partition: self._next[topic, partition] for partition in range(self.partitions(topic))}

    def of(self, topic: str) -> list[Logged]:
        """Return what has been seen of a topic, each partition in the order of its log."""
        return [
            self._records[topic, partition][offset]
            for partition in range(self.partitions(topic))
            for offset in sorted(self._records[topic, partition])
        ]

    async def read(self) -> None:
        """Read all topics on to their present ends.

        Raises:
            TimeoutError: the brokers did not give all of it in time.
        """
        await asyncio.to_thread(self._read)

    def _read(self) -> None:
        deadline = time.monotonic() + READ_SECONDS
        consumer = Consumer(
            {
                "bootstrap.servers": self._brokers,
                "group.id": "nobody",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 10,
                # What it says of brokers that are away is part of the plan.
                "log_level": 0,
            }
        )
        try:
            open_ = set(self._next)
            consumer.assign([TopicPartition(*place, offset) for place, offset in self._next.items()])
            while open_:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"the ends of {len(open_)} partitions were not reached")
                for message in consumer.consume(1_000, timeout=0.1):
                    place = message.topic(), message.partition()
                    if (error := message.error()) is None:
                        self._note(message)
                    elif error.code() == KafkaError._PARTITION_EOF:
                        open_.discard(place)
        finally:
            consumer.close()

    def _note(self, message: Any) -> None:
        place = message.topic(), message.partition()
        self._next[place] = message.offset() + 1
        of_life = message.offset() + LIFE * self._lives[place]
        seen = Logged(
            partition=place[1],
            offset=of_life,
            appended_ms=message.timestamp()[1],
            key=message.key(),
            value=message.value() or b"",
            headers=None,
        )
        # From a name that is not UTF-8 it returns as from any other, with an exception set, which the interpreter
        # finds in one of the next calls.
        with suppress(UnicodeDecodeError, SystemError):
            seen = replace(seen, headers=tuple(message.headers() or ()))
        self._records[place][of_life] = seen
