"""This module writes records by one idempotent producer; all replicas in sync acknowledge every write."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaProducer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.kafka.settings import Settings

__all__ = ["Producer", "Record"]

#: Seconds to wait for acknowledgements, longer than a broker takes to restart. An idempotent producer itself never
#: gives up a batch, and a worker that waits for ever keeps its place in its groups and does nothing.
ACKNOWLEDGE_SECONDS = 60.0

#: Largest record, in bytes, that brokers accept by default.
USUAL_RECORD_BYTES = 2**20

#: Seconds for the sends under way when a producer is abandoned; they end by themselves unless the broker is frozen.
ABANDON_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A record to write; if its partition is None, the key decides."""

    topic: str
    key: bytes
    value: bytes
    partition: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


class Producer:
    """A producer writes records, and waits until they are written."""

    def __init__(self, settings: Settings, *, max_record_bytes: int = USUAL_RECORD_BYTES) -> None:
        self._settings = settings
        self._max_record_bytes = max_record_bytes
        self._producer: Any = None

    async def start(self) -> None:
        """Connect. After a failure, call `stop`.

        Raises:
            KafkaError: the brokers cannot be used.
        """
        self._producer = AIOKafkaProducer(
            **self._settings.client_options(),
            enable_idempotence=True,
            acks="all",
            max_request_size=self._max_record_bytes,
        )
        await self._producer.start()

    async def topics(self) -> set[str]:
        """Return the names of all existing topics that this user may describe."""
        return set((await self._producer.client.fetch_all_metadata()).topics())

    async def send(self, record: Record) -> asyncio.Future[Any]:
        """Hand over a record; the future is done when the brokers have acknowledged it, which may be never."""
        if self._producer is None:
            raise RuntimeError("the producer has not been started")
        options: dict[str, Any] = {}
        if record.partition is not None:
            options["partition"] = record.partition
        if record.headers:
            options["headers"] = list(record.headers)
        sent: asyncio.Future[Any] = await self._producer.send(
            record.topic, key=record.key, value=record.value, **options
        )
        return sent

    async def publish(self, records: Iterable[Record]) -> None:
        """Write records and wait until the brokers have acknowledged every one.

        Raises:
            KafkaError: one of them could not be written.
            TimeoutError: they were not acknowledged within ACKNOWLEDGE_SECONDS.
        """
        async with asyncio.timeout(ACKNOWLEDGE_SECONDS):
            await asyncio.gather(*[await self.send(record) for record in records])

    async def stop(self) -> None:
        """Disconnect, once all that was sent is acknowledged; may be called twice, or without a start."""
        if self._producer is not None:
            await self._producer.stop()

    async def abandon(self) -> None:
        """Disconnect without the records that no broker accepts: aiokafka's `stop` would wait for them for ever."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ABANDON_SECONDS):
                await self._producer._sender.close()
        self._producer._closed = True
        await self._producer.client.close()
