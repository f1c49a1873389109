"""The broker in memory is, for the clients of the package, like any other."""

import asyncio

import pytest

from stream_ldp.kafka.connection import check_connection
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.memory import MemoryBroker, connected
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.settings import Settings

NOWHERE = Settings(brokers="nowhere:1")


def broker() -> MemoryBroker:
    return MemoryBroker(topics={"topic"}, now_ms=1_000)


async def test_what_is_produced_is_kept_with_its_time() -> None:
    with connected(broker()) as memory:
        await check_connection(NOWHERE)
        producer = Producer(NOWHERE, idempotent=False)
        await producer.start()
        assert await producer.topics() == {"topic"}
        await producer.publish([Record(topic="topic", key=b"k", value=b"v", headers=(("h", b"1"),))])
        await producer.stop()
    (sent,) = memory.sent
    assert (sent.topic, sent.key, sent.value, sent.at_ms) == ("topic", b"k", b"v", 1_000)
    assert sent.others == (("headers", [("h", b"1")]),)
    assert memory.producers[0]["enable_idempotence"] is False


async def test_a_log_is_read_as_its_time_comes() -> None:
    memory = broker()
    for at_ms in (500, 1_000, 1_300, 9_000):
        memory.put("topic", str(at_ms).encode(), at_ms=at_ms)
    with connected(memory):
        reader = LogReader("topic", settings=NOWHERE)
        await reader.start(since_ms=600)
        assert [record.value for record in await reader.fetch(timeout_ms=100)] == [b"1000"]
        assert [record.value for record in await reader.fetch(timeout_ms=1_000)] == [b"1300"]
        assert memory.now_ms == 1_300
        assert await reader.fetch(timeout_ms=200) == []
        assert memory.now_ms == 1_500
        await reader.stop()


async def test_a_log_is_read_to_its_end() -> None:
    memory = broker()
    memory.put("topic", b"1")
    memory.put("topic", b"2")
    with connected(memory):
        async with LogReader("topic", settings=NOWHERE) as reader:
            assert [record.value async for record in reader.read_to_end()] == [b"1", b"2"]


async def test_at_the_end_consumers_wait_for_ever() -> None:
    memory = broker()
    memory.end_ms = 1_200
    with connected(memory):
        async with LogReader("topic", settings=NOWHERE) as reader:
            assert await reader.fetch(timeout_ms=500) == []
            assert (memory.now_ms, memory.ended.is_set()) == (1_200, False)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await reader.fetch(timeout_ms=500)
    assert memory.ended.is_set()


async def test_outside_the_block_clients_use_their_settings() -> None:
    with connected(broker()):
        pass
    producer = Producer(NOWHERE)
    with pytest.raises(Exception, match="nowhere"):
        await producer.start()
    await producer.stop()


async def test_a_consumer_begins_after_what_retention_has_deleted() -> None:
    memory = broker()
    for value in (b"0", b"1", b"2"):
        memory.put("topic", value)
    memory.beginnings["topic"] = 2
    with connected(memory):
        async with LogReader("topic", settings=Settings.load(brokers="nowhere:1")) as reader:
            assert await reader.position() == 2
            assert await reader.partitions() == [0]
            assert [record.value async for record in reader.read_to_end()] == [b"2"]


async def test_records_come_one_by_one_with_their_headers() -> None:
    memory = broker()
    memory.put("topic", b"0", headers=(("reason", b"late"),))
    memory.put("topic", b"1", at_ms=5_000)
    with connected(memory):
        async with LogReader("topic", settings=Settings.load(brokers="nowhere:1")) as reader:
            first, second = await reader.next(), await reader.next()
    assert (first.value, first.headers, second.value) == (b"0", (("reason", b"late"),), b"1")
    assert memory.now_ms == 5_000, "time passes while a consumer waits"
