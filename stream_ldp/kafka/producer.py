"""Everything a worker writes, through one idempotent producer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaProducer

from stream_ldp.kafka.topics import MAX_RECORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.kafka.settings import Settings

__all__ = ["Publisher", "Record"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One record to write; partition None lets the key choose."""

    topic: str
    key: bytes
    value: bytes
    partition: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


#: Seconds to wait for acknowledgements. An idempotent producer itself never gives up a batch, and a worker that waits
#: for ever is a member of its groups and does nothing; longer than a broker takes to restart.
ACKNOWLEDGE_SECONDS = 60.0


class Publisher:
    """Writes records, and knows that they are written."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: AIOKafkaProducer | None = None

    async def start(self) -> None:
        """Connect."""
        producer = AIOKafkaProducer(
            **self._settings.client_options(),
            enable_idempotence=True,
            acks="all",
            max_request_size=MAX_RECORD_BYTES,
        )
        await producer.start()
        self._producer = producer

    async def stop(self) -> None:
        """Disconnect; may be called twice, or without a start."""
        if self._producer is not None:
            await self._producer.stop()

    async def publish(self, records: Iterable[Record]) -> None:
        """Write records and wait until the brokers have acknowledged every one.

        Raises:
            KafkaError: one of them could not be written.
            TimeoutError: they were not acknowledged within ACKNOWLEDGE_SECONDS.
        """
        if self._producer is None:
            raise RuntimeError("the publisher has not been started")
        async with asyncio.timeout(ACKNOWLEDGE_SECONDS):
            deliveries = [
                await self._producer.send(
                    record.topic,
                    key=record.key,
                    value=record.value,
                    partition=record.partition,
                    headers=list(record.headers),
                )
                for record in records
            ]
            await asyncio.gather(*deliveries)
