"""Tests that a quick consumer gives what aiokafka's own gives, without its copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import ConsumerRecord

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.consumer import QuickConsumer
from stream_ldp.kafka.topics import TopicSpec

if TYPE_CHECKING:
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


async def test_records_are_those_of_aiokafka_and_most_are_not_copied(settings: Settings, prefix: str) -> None:
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
    assert sum(isinstance(each, ConsumerRecord) for each in parsed) <= RECORDS // 2
