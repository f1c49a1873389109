"""Tests of reading topics as another client does, on a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin.records_to_delete import RecordsToDelete

from tests.chaos.log import LIFE, Logs
from tests.kafka.embedded.administration import administration
from tests.kafka.new_topics import create
from tests.kafka.unreadable_batch import append

if TYPE_CHECKING:
    from stream_ldp.kafka.embedded import EmbeddedKafka
    from stream_ldp.kafka.settings import Settings


async def test_all_that_ever_was_on_a_topic_is_kept_each_record_at_a_place_of_its_own(
    kafka: EmbeddedKafka, settings: Settings, prefix: str
) -> None:
    await create(settings, prefix, partitions=2)
    logs = Logs(kafka.bootstrap)
    logs.add(prefix, partitions=2)
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        await append(producer, TopicPartition(prefix, 0), [b"a", b"b", b"c"], spoiled={1})
        await producer.send_and_wait(prefix, b"d", partition=1, headers=[("name", b"text")])
        await logs.read()
        async with administration(kafka.bootstrap) as admin:
            await admin.delete_records({TopicPartition(prefix, 0): RecordsToDelete(2)})
        await producer.send_and_wait(prefix, b"e", partition=1)
    await logs.read()
    headers = (("name", b"text"),)
    expected = [(0, 0, b"a", ()), (0, 1, b"b", None), (0, 2, b"c", ()), (1, 0, b"d", headers), (1, 1, b"e", ())]
    assert [(each.partition, each.offset, each.value, each.headers) for each in logs.of(prefix)] == expected
    logs.begin_life(prefix, {1: 1})
    await logs.read()
    assert [(each.partition, each.offset) for each in logs.of(prefix)][-2:] == [(1, 1), (1, 1 + LIFE)]
