"""This module finds places in topics, and reads single records there."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer

from stream_ldp.kafka.log import LogReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from aiokafka import ConsumerRecord, TopicPartition

    from stream_ldp.kafka.settings import Settings

__all__ = ["bounds_of", "offsets_since", "read_record"]

#: Longest wait for a record that is there, in milliseconds.
READ_MS = 5_000


@asynccontextmanager
async def _consumer(settings: Settings) -> AsyncIterator[Any]:
    consumer = AIOKafkaConsumer(**settings.client_options(), group_id=None, enable_auto_commit=False)
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def bounds_of(settings: Settings, places: Sequence[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
    """Return the offset of the first record of each partition, and that of the next one to be written.

    Raises:
        KafkaError: the brokers cannot be asked.
    """
    async with _consumer(settings) as consumer:
        consumer.assign(places)
        first, last = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
    return {place: (first[place], last[place]) for place in places}


async def offsets_since(
    settings: Settings, places: Sequence[TopicPartition], time_ms: int
) -> dict[TopicPartition, int]:
    """Return the offset of the first record of each partition that was written at a time or later.

    time_ms: milliseconds since 1970-01-01 UTC. Where nothing has been written since, it is the end of the partition.

    Raises:
        KafkaError: the brokers cannot be asked.
    """
    async with _consumer(settings) as consumer:
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
        found = await consumer.offsets_for_times(dict.fromkeys(places, max(0, time_ms)))
    return {place: ends[place] if found[place] is None else found[place].offset for place in places}


async def read_record(settings: Settings, place: TopicPartition, offset: int) -> ConsumerRecord | None:
    """Read the record at an offset, or the next one if it has been deleted; None if there is none.

    One that cannot be read is an `UnreadableRecord`.

    Raises:
        KafkaError: the brokers cannot be asked.
    """
    async with LogReader(place.topic, partition=place.partition, settings=settings) as reader:
        if offset >= await reader.end():
            return None
        await reader.seek(offset)
        records = await reader.fetch(timeout_ms=READ_MS, max_records=1)
        return records[0] if records else None
