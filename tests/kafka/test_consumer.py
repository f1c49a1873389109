"""Tests that a quick consumer gives what aiokafka's own gives, without its copies."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import ConsumerRecord

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.consumer import QuickConsumer, SturdyConsumer
from stream_ldp.kafka.topics import TopicSpec
from stream_ldp.kafka.unreadable import UnreadableRecord
from tests.kafka.unreadable_batch import append

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.kafka.settings import Settings

RECORDS = 500


async def drained(consumer: Any, partition: TopicPartition) -> list[Any]:
    found: list[Any] = []
    consumer.assign([partition])
    await consumer.start()
    try:
        await consumer.seek_to_beginning(partition)
        while len(found) < RECORDS:
            found += (await consumer.getmany(timeout_ms=1_000, max_records=100)).get(partition, [])
    finally:
        await consumer.stop()
    return found


async def test_records_are_those_of_aiokafka_and_none_is_copied(settings: Settings, prefix: str) -> None:
    partition = TopicPartition(f"{prefix}.records", 0)
    async with Cluster.connect(settings) as cluster:
        await cluster.create([TopicSpec(name=partition.topic, partitions=1, config={})], replication=1)
    producer = AIOKafkaProducer(**settings.client_options())
    await producer.start()
    for number in range(RECORDS):
        await producer.send(partition.topic, b"%d" % number, key=b"key", headers=[("name", b"value")])
    await producer.stop()
    options = {**settings.client_options(), "enable_auto_commit": False}
    copied = await drained(AIOKafkaConsumer(**options), partition)
    parsed = await drained(QuickConsumer(**options), partition)
    assert [(each.offset, each.timestamp, each.value, tuple(each.headers)) for each in parsed] == [
        (each.offset, each.timestamp, each.value, each.headers) for each in copied
    ]
    assert not any(isinstance(each, ConsumerRecord) for each in parsed)


#: Records of one batch, of which every seventh cannot be read.
MANY, EVERY = 3_000, 7


@pytest.fixture
async def spoiled(settings: Settings, prefix: str) -> TopicPartition:
    """A partition with a good record, a batch of which some records cannot be read, and a good record."""
    partition = TopicPartition(f"{prefix}.records", 0)
    async with Cluster.connect(settings) as cluster:
        await cluster.create([TopicSpec(name=partition.topic, partitions=1, config={})], replication=1)
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        await producer.send_and_wait(*partition[:1], b"first", partition=0)
        values = [b"%d" % number for number in range(MANY)]
        await append(producer, partition, values, spoiled=range(0, MANY, EVERY))
        await producer.send_and_wait(*partition[:1], b"last", partition=0)
    return partition


def assert_whole(found: Sequence[Any]) -> None:
    assert [each.offset for each in found] == list(range(MANY + 2))
    assert [each.value for each in found] == [b"first", *(b"%d" % number for number in range(MANY)), b"last"]
    unreadable = {each.offset for each in found if isinstance(each, UnreadableRecord)}
    assert unreadable == {1 + number for number in range(0, MANY, EVERY)}


@pytest.mark.parametrize("kind", [SturdyConsumer, QuickConsumer])
@pytest.mark.parametrize("most", [None, 1_000, 50])
async def test_records_beside_those_that_cannot_be_read_come_once_and_in_order(
    settings: Settings, spoiled: TopicPartition, kind: type[SturdyConsumer], most: int | None
) -> None:
    found: list[Any] = []
    async with kind(**settings.client_options(), enable_auto_commit=False) as consumer, asyncio.timeout(60):
        consumer.assign([spoiled])
        await consumer.seek_to_beginning(spoiled)
        while len(found) < MANY + 2:
            assert await consumer.position(spoiled) == len(found)
            some = (await consumer.getmany(timeout_ms=1_000, max_records=most)).get(spoiled, [])
            assert most is None or len(some) <= most
            found += some
        assert_whole(found)
        # It goes on where it is told to, in the midst of what it reads past as well.
        consumer.seek(spoiled, 1)
        await consumer.getmany(timeout_ms=1_000, max_records=20)
        consumer.seek(spoiled, MANY + 1)
        (again,) = (await consumer.getmany(timeout_ms=1_000))[spoiled]
        assert again.value == b"last"


async def test_a_caller_who_waits_a_short_time_again_and_again_gets_past_them(
    settings: Settings, spoiled: TopicPartition
) -> None:
    found: list[Any] = []
    async with SturdyConsumer(**settings.client_options(), enable_auto_commit=False) as consumer:
        consumer.assign([spoiled])
        await consumer.seek_to_beginning(spoiled)
        async with asyncio.timeout(60):
            while len(found) < MANY + 2:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.002):
                        found += (await consumer.getmany(timeout_ms=1_000, max_records=300)).get(spoiled, [])
    assert_whole(found)


async def test_one_record_at_a_time_comes_past_them_too(settings: Settings, spoiled: TopicPartition) -> None:
    async with SturdyConsumer(**settings.client_options(), enable_auto_commit=False) as consumer:
        consumer.assign([spoiled])
        await consumer.seek_to_beginning(spoiled)
        async with asyncio.timeout(60):
            assert_whole([await consumer.getone() for _ in range(MANY + 2)])
