"""Find places in many partitions at once, and read single records there."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiokafka.errors import TopicAuthorizationFailedError

from stream_ldp.kafka.consumer import SturdyConsumer
from stream_ldp.kafka.log import AS_WRITTEN, LogReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from aiokafka import ConsumerRecord, TopicPartition

    from stream_ldp.kafka.settings import Settings

#: Longest wait for a record where others are there as well, and one may be passed over, in milliseconds.
READ_EACH_MS = 1_000


@asynccontextmanager
async def unsubscribed(settings: Settings, *, group: str | None = None) -> AsyncIterator[Any]:
    """Have a consumer, which reads nothing, for the length of an `async with` block.

    group: that for which it may commit; it is no member.
    """
    consumer = SturdyConsumer(**settings.client_options(), group_id=group, enable_auto_commit=False)
    try:
        await consumer.start()
        yield consumer
    finally:
        await consumer.stop()


async def bounds_of(settings: Settings, places: Sequence[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
    """Return the offset of the first record of each partition, and that of the next one to be written.

    Raises:
        KafkaError: the brokers cannot be asked.
    """
    # Nothing is assigned, or the consumer would fetch what this user may not be allowed to read.
    async with unsubscribed(settings) as consumer:
        first, last = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
    return {place: (first[place], last[place]) for place in places}


async def offsets_since(
    settings: Settings, times_ms: Mapping[TopicPartition, int], *, ends: Mapping[TopicPartition, int] | None = None
) -> dict[TopicPartition, int]:
    """Return the offset of the first record of each partition of reports that was written at a time or later.

    times_ms: the time for each partition, in milliseconds since 1970-01-01 UTC.
    ends: where a record has to come before; the ends of the partitions by default. Where none does, it is the end.

    Raises:
        KafkaError: the brokers cannot be asked.
    """
    found = {}
    for place, time_ms in times_ms.items():
        log = LogReader(place.topic, partition=place.partition, settings=settings, isolation=AS_WRITTEN)
        async with log as reader:
            found[place] = await reader.seek_since(time_ms, end=None if ends is None else ends[place])
    return found


async def read_record(
    settings: Settings, place: TopicPartition, offset: int, *, back_to: int | None = None
) -> ConsumerRecord | None:
    """Read the record at an offset, or the next one if there is none; None if there is no next one either.

    One that cannot be read is an `UnreadableRecord`.

    back_to: where there is no next one, the last one before it is read, from this offset on. The last places of a log
        may hold no record, but the end of a transaction. None to read none that is before.

    Raises:
        KafkaError: the brokers cannot be asked.
    """
    async with LogReader(place.topic, partition=place.partition, settings=settings) as reader:
        if offset >= await reader.end():
            return None
        for at in range(offset, (offset if back_to is None else back_to) - 1, -1):
            await reader.seek(at)
            if (found := await anext(reader.read_to_end(), None)) is not None:
                return found
        return None


async def last_records(
    settings: Settings, bounds: Mapping[TopicPartition, tuple[int, int]]
) -> AsyncIterator[list[ConsumerRecord]]:
    """Yield the last record of each partition that has one, as many at a time as have come.

    What does not come within READ_EACH_MS after another, or may not be read, is left out.

    bounds: of the partitions, as `bounds_of` finds them.

    Raises:
        KafkaError: the brokers cannot be asked.
    """
    left = {place for place, (begin, end) in bounds.items() if begin < end}
    if not left:
        return
    async with unsubscribed(settings) as consumer:
        consumer.assign(left)
        for place in left:
            consumer.seek(place, bounds[place][1] - 1)
        while left:
            try:
                found = await consumer.getmany(timeout_ms=READ_EACH_MS)
            except TopicAuthorizationFailedError:
                return
            if not found:
                return
            left -= found.keys()
            yield [record for records in found.values() for record in records]
