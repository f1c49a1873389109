"""Places in topics: where they begin and end, what is at one, and where a group goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaConnectionError

from stream_ldp.kafka import offsets
from stream_ldp.kafka.cluster import Cluster, ClusterError
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.offsets import bounds_of, last_records, offsets_since, read_record
from stream_ldp.kafka.settings import Settings
from tests.kafka.new_topics import create
from tests.kafka.unreadable_batch import append


@pytest.fixture
async def place(settings: Settings) -> TopicPartition:
    """A partition whose second of two has the records 0, 1 and 2, written at 1000, 2000 and 3000 ms."""
    topic = f"{settings.topic_prefix}.topic"
    await create(settings, topic, partitions=2, **{"retention.ms": "-1"})
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        for number in range(3):
            await producer.send_and_wait(topic, b"%d" % number, partition=1, timestamp_ms=1_000 * (number + 1))
    return TopicPartition(topic, 1)


async def test_places_are_found_by_time_and_records_by_place(settings: Settings, place: TopicPartition) -> None:
    empty = TopicPartition(place.topic, 0)
    assert await bounds_of(settings, [empty, place]) == {empty: (0, 0), place: (0, 3)}
    for time_ms, offset in ((-5, 0), (1_000, 0), (1_001, 1), (3_001, 3)):
        assert await offsets_since(settings, dict.fromkeys([empty, place], time_ms)) == {empty: 0, place: offset}
    found = [await read_record(settings, place, offset) for offset in range(4)]
    assert [each and each.value for each in found] == [b"0", b"1", b"2", None]
    bounds = await bounds_of(settings, [empty, place])
    assert [[each.value for each in records] async for records in last_records(settings, bounds)] == [[b"2"]]


@pytest.fixture
async def lied(settings: Settings) -> tuple[list[TopicPartition], int]:
    """Partitions of four records, and the time between the first and the second, which lies about its offset."""
    topic = f"{settings.topic_prefix}.topic"
    # That of another record, of none, that before, and one before the log.
    lies = [1, 2**30, -1, -(2**30)]
    await create(settings, topic, partitions=len(lies), **{"message.timestamp.type": "LogAppendTime"})
    places = [TopicPartition(topic, number) for number in range(len(lies))]
    async with AIOKafkaProducer(**settings.client_options()) as producer:

        async def send() -> list[Any]:
            return [await producer.send_and_wait(topic, b"", partition=each.partition) for each in places]

        since_ms = max(each.timestamp for each in await send()) + 1
        await asyncio.sleep(0.002)
        for place, offset in zip(places, lies, strict=True):
            await append(producer, place, [b""], offsets=[offset])
        await send()
        await send()
    return places, since_ms


async def test_no_offset_that_a_client_wrote_into_a_record_is_believed(
    settings: Settings, lied: tuple[list[TopicPartition], int]
) -> None:
    """Brokers name it, if they are asked for the first record of a time."""
    places, since_ms = lied
    times_ms = dict.fromkeys(places, since_ms)
    assert await offsets_since(settings, times_ms) == dict.fromkeys(places, 1)
    for end, place in ((0, 0), (1, 1), (2, 1), (9, 1)):
        found = await offsets_since(settings, times_ms, ends=dict.fromkeys(places, end))
        assert found == dict.fromkeys(places, place), "the end where nothing before it is of the time"
    for each in places:
        reader = LogReader(each.topic, partition=each.partition, settings=settings)
        async with reader.opened(since_ms=since_ms):
            assert [record.offset async for record in reader.read_to_end()] == [1, 2, 3]


async def test_groups_and_topics_can_be_deleted_and_what_is_not_there_is_reported(
    settings: Settings, place: TopicPartition
) -> None:
    group = f"{settings.group}.group"
    async with Cluster.connect(settings) as cluster:
        # A new cluster has its first coordinator of groups only after it was asked for one.
        assert await cluster.commits(group, [place]) == {}
        await cluster.commit(group, {place: (2, "")})
        assert await cluster.commits(group, [place]) == {place: (2, "")}
        await cluster.delete_group(group)
        assert group not in await cluster.groups()
        with pytest.raises(ClusterError, match=f"group {group}: "):
            await cluster.delete_group(group)
        await cluster.delete_topics([place.topic, "no.such.topic"])
        # What the controller has deleted, a broker forgets a moment later.
        async with asyncio.timeout(30):
            while await cluster.topics([place.topic]):
                await asyncio.sleep(0.05)


async def test_a_consumer_that_cannot_connect_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Broken:
        def __init__(self, **_: object) -> None: ...

        async def start(self) -> None:
            raise KafkaConnectionError("nobody listens")

        async def stop(self) -> None:
            done.append("stop")

    monkeypatch.setattr(offsets, "SturdyConsumer", Broken)
    with pytest.raises(KafkaConnectionError):
        await bounds_of(Settings.load(), [TopicPartition("t", 0)])
    assert done == ["stop"]
