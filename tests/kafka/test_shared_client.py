"""Tests that producers which share a client have its connections alone, and shut each other out all the same."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest
from aiokafka.errors import KafkaConnectionError

from stream_ldp.kafka.embedded.process import free_ports
from stream_ldp.kafka.fenced_producer import Fenced, FencedProducer
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.producer import Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.shared_client import SharedClient
from tests.kafka.new_topics import create


@pytest.fixture
async def sharing(settings: Settings) -> AsyncIterator[Callable[[str], FencedProducer]]:
    """Make producers that share one client."""
    async with AsyncExitStack() as made:
        client = SharedClient()

        def make(topic: str) -> FencedProducer:
            producer = FencedProducer(
                settings, topic=topic, max_record_bytes=2**20, acknowledge_seconds=20.0, client=client
            )
            made.push_async_callback(producer.stop)
            return producer

        yield make


def record(topic: str, value: bytes = b"final") -> Record:
    return Record(topic=topic, key=b"key", value=value, partition=0)


async def test_many_producers_have_the_connections_of_one(
    sharing: Callable[[str], FencedProducer], settings: Settings, prefix: str
) -> None:
    topics = [f"{prefix}-{number}" for number in range(5)]
    await create(settings, *topics)
    producers = [sharing(topic) for topic in topics]
    await asyncio.gather(*(each.take() for each in producers))
    offsets = await asyncio.gather(
        *(each.write(record(topic)) for each, topic in zip(producers, topics, strict=True))
    )
    assert offsets == [0] * len(topics)
    clients = {id(each._producer.client._common.client) for each in producers}
    connections = producers[0]._producer.client._common.client._conns
    assert len(clients) == 1
    assert len(connections) == 2, "to one broker: for records, and for its transactions"

    for each in producers[1:]:
        await each.stop()
    assert await producers[0].write(record(topics[0])) == 2, "others stop, and it goes on; a commit takes an offset"
    await producers[0].stop()
    assert not any(each.connected() for each in connections.values()), "the last one closes them"
    await producers[1].take()
    assert await producers[1].write(record(topics[1])) == 2, "the next one brings a client of its own"


async def test_a_producer_shuts_out_another_with_which_it_shares_a_client(
    sharing: Callable[[str], FencedProducer], settings: Settings, prefix: str
) -> None:
    await create(settings, prefix)
    frozen, successor = sharing(prefix), sharing(prefix)
    await frozen.take()
    await frozen.write(record(prefix, b"1"))
    await successor.take()
    with pytest.raises(Fenced, match=prefix):
        await frozen.write(record(prefix, b"never"))
    await successor.write(record(prefix, b"2"))
    async with asyncio.timeout(30), LogReader(prefix, settings=settings) as reader:
        assert [(await reader.next()).value for _ in range(2)] == [b"1", b"2"]


async def test_a_client_that_does_not_connect_is_another_at_the_next_try() -> None:
    (port,) = free_ports(1)
    settings = Settings.load(brokers=f"127.0.0.1:{port}")
    client = SharedClient()
    producer = FencedProducer(settings, topic="t", max_record_bytes=2**20, acknowledge_seconds=5.0, client=client)
    for _ in range(2):
        with pytest.raises(KafkaConnectionError):
            await producer.take()
        assert client._common is None, "nobody uses it any more"
