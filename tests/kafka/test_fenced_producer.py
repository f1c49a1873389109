"""Tests that one producer at a time writes to a topic, and that what others leave behind is never read."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable

import pytest

from stream_ldp.kafka.fenced_producer import Fenced, FencedProducer
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.producer import Record
from stream_ldp.kafka.settings import Settings
from tests.kafka.new_topics import create


@pytest.fixture
async def topic(settings: Settings, prefix: str) -> str:
    """Create an empty topic."""
    await create(settings, prefix)
    return prefix


@pytest.fixture
async def producer(settings: Settings, topic: str) -> AsyncIterator[Callable[[], FencedProducer]]:
    made = []

    def make() -> FencedProducer:
        made.append(FencedProducer(settings, topic=topic, max_record_bytes=2**20, acknowledge_seconds=20.0))
        return made[-1]

    yield make
    for each in made:
        await each.stop()


def record(topic: str, value: bytes) -> Record:
    return Record(topic=topic, key=b"key", value=value, partition=0)


async def values(settings: Settings, topic: str, *, expected: int) -> list[bytes | None]:
    """Read what is on a topic; a record of a transaction shows a moment after the commit is acknowledged."""
    async with asyncio.timeout(30):
        while True:
            async with LogReader(topic, settings=settings) as reader:
                found = [each.value async for each in reader.read_to_end()]
            if len(found) >= expected:
                return found
            await asyncio.sleep(0.05)


async def test_who_takes_a_topic_shuts_out_the_producer_before_until_that_takes_it_back(
    producer: Callable[[], FencedProducer], settings: Settings, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = producer(), producer()
    await first.take()
    assert await first.write(record(topic, b"1")) == 0
    await second.take()
    assert first.held, "it does not know yet"
    with pytest.raises(Fenced, match=topic):
        await first.write(record(topic, b"never"))
    assert not first.held
    written = await second.write(record(topic, b"2"))
    await first.take()
    await first.write(record(topic, b"3"))
    with pytest.raises(Fenced):
        await second.write(record(topic, b"never"))
    assert await values(settings, topic, expected=3) == [b"1", b"2", b"3"]
    async with LogReader(topic, settings=settings) as reader:
        await reader.seek(written)
        assert (await reader.next()).value == b"2"
    await second.take()
    gc.collect()
    assert "never retrieved" not in caplog.text, "to be shut out is no error"


async def test_a_record_whose_producer_was_shut_out_before_it_was_committed_is_never_read(
    producer: Callable[[], FencedProducer], settings: Settings, topic: str
) -> None:
    frozen, successor = producer(), producer()
    await frozen.take()
    await frozen._producer.begin_transaction()
    await (await frozen.send(record(topic, b"never")))
    assert await values(settings, topic, expected=0) == []
    await successor.take()
    await successor.write(record(topic, b"once"))
    assert await values(settings, topic, expected=1) == [b"once"]


async def test_a_topic_can_be_taken_again_at_once(
    producer: Callable[[], FencedProducer], settings: Settings, topic: str
) -> None:
    again = producer()
    for _ in range(3):
        await again.take()
    await again.write(record(topic, b"once"))
    assert await values(settings, topic, expected=1) == [b"once"]
