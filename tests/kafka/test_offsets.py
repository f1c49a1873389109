"""Places in topics: where they begin and end, what is at one, and where a group goes on."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaConnectionError

from stream_ldp.kafka import offsets
from stream_ldp.kafka.cluster import Cluster, ClusterError
from stream_ldp.kafka.offsets import bounds_of, last_records, offsets_since, read_record
from stream_ldp.kafka.settings import Settings
from tests.kafka.new_topics import create


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
        assert await offsets_since(settings, [empty, place], time_ms) == {empty: 0, place: offset}
    found = [await read_record(settings, place, offset) for offset in range(4)]
    assert [each and each.value for each in found] == [b"0", b"1", b"2", None]
    bounds = await bounds_of(settings, [empty, place])
    assert [[each.value for each in records] async for records in last_records(settings, bounds)] == [[b"2"]]


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
