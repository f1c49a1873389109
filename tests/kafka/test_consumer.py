"""Tests that consumers give what aiokafka's own gives, as columns or not, and read past what it cannot parse."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from stream_ldp.kafka import consumer as module
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.columns import Columns
from stream_ldp.kafka.consumer import ColumnConsumer, SturdyConsumer
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicSpec
from stream_ldp.kafka.unreadable import fault_of, read_past
from tests.kafka.unreadable_batch import append

RECORDS = 500


async def drained(consumer: Any, partition: TopicPartition) -> list[Read]:
    found: list[Read] = []
    consumer.assign([partition])
    await consumer.start()
    try:
        await consumer.seek_to_beginning(partition)
        while len(found) < RECORDS:
            found += read((await consumer.getmany(timeout_ms=1_000, max_records=100)).get(partition, []))
    finally:
        await consumer.stop()
    return found


async def test_columns_have_the_records_of_aiokafka(settings: Settings, prefix: str) -> None:
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
    assert await drained(ColumnConsumer(**options), partition) == copied


class Read(NamedTuple):
    """What a consumer gives of a record."""

    offset: int
    timestamp_ms: int
    value: bytes | None
    readable: bool


def read(found: Columns | Sequence[Any]) -> list[Read]:
    if isinstance(found, Columns):
        columns = zip(found.offsets.tolist(), found.timestamps_ms.tolist(), found.values, strict=True)
        return [Read(*record, index not in found.faults) for index, record in enumerate(columns)]
    return [Read(each.offset, each.timestamp, each.value, fault_of(each) is None) for each in found]


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


def assert_whole(found: Sequence[Read]) -> None:
    assert [each.offset for each in found] == list(range(MANY + 2))
    assert [each.value for each in found] == [b"first", *(b"%d" % number for number in range(MANY)), b"last"]
    unreadable = {each.offset for each in found if not each.readable}
    assert unreadable == {1 + number for number in range(0, MANY, EVERY)}


@pytest.mark.parametrize("kind", [SturdyConsumer, ColumnConsumer])
@pytest.mark.parametrize("most", [None, 1_000, 50])
async def test_records_beside_those_that_cannot_be_read_come_once_and_in_order(
    settings: Settings, spoiled: TopicPartition, kind: type[SturdyConsumer], most: int | None
) -> None:
    found: list[Read] = []
    async with kind(**settings.client_options(), enable_auto_commit=False) as consumer, asyncio.timeout(60):
        consumer.assign([spoiled])
        await consumer.seek_to_beginning(spoiled)
        while len(found) < MANY + 2:
            assert await consumer.position(spoiled) == len(found)
            some = read((await consumer.getmany(timeout_ms=1_000, max_records=most)).get(spoiled, []))
            assert most is None or len(some) <= most
            found += some
        assert_whole(found)
        # It goes on where it is told to, in the midst of what it reads past as well.
        consumer.seek(spoiled, 1)
        await consumer.getmany(timeout_ms=1_000, max_records=20)
        consumer.seek(spoiled, MANY + 1)
        (again,) = read((await consumer.getmany(timeout_ms=1_000))[spoiled])
        assert again.value == b"last"


async def test_a_caller_who_waits_a_short_time_again_and_again_gets_past_them(
    settings: Settings, spoiled: TopicPartition
) -> None:
    found: list[Read] = []
    async with SturdyConsumer(**settings.client_options(), enable_auto_commit=False) as consumer:
        consumer.assign([spoiled])
        await consumer.seek_to_beginning(spoiled)
        async with asyncio.timeout(60):
            while len(found) < MANY + 2:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.002):
                        some = await consumer.getmany(timeout_ms=1_000, max_records=300)
                        found += read(some.get(spoiled, []))
    assert_whole(found)


async def test_a_caller_goes_on_when_another_seeks_while_it_reads_past_them(
    settings: Settings, spoiled: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, held = asyncio.Event(), asyncio.Event()

    async def read_later(*given: Any) -> Any:
        reads.set()
        await held.wait()
        return await read_past(*given)

    monkeypatch.setattr(module, "read_past", read_later)
    async with SturdyConsumer(**settings.client_options(), enable_auto_commit=False) as consumer, asyncio.timeout(60):
        consumer.assign([spoiled])
        await consumer.seek_to_beginning(spoiled)
        found = read((await consumer.getmany(timeout_ms=1_000, max_records=1))[spoiled])
        waiting = asyncio.ensure_future(consumer.getmany(timeout_ms=1_000))
        await reads.wait()
        consumer.seek(spoiled, 0)
        held.set()
        assert not await waiting
        found = []
        while len(found) < MANY + 2:
            found += read((await consumer.getmany(timeout_ms=1_000)).get(spoiled, []))
    assert_whole(found)


async def test_one_record_at_a_time_comes_past_them_too(settings: Settings, spoiled: TopicPartition) -> None:
    async with SturdyConsumer(**settings.client_options(), enable_auto_commit=False) as consumer:
        consumer.assign([spoiled])
        await consumer.seek_to_beginning(spoiled)
        async with asyncio.timeout(60):
            assert_whole(read([await consumer.getone() for _ in range(MANY + 2)]))
