"""Tests that a partition is read as a log: all of it and nothing twice, from the chosen place."""

import asyncio
from collections.abc import Collection as Container
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.errors import CommitFailedError, IllegalStateError

from stream_ldp.kafka import log
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.unreadable import UnreadableRecord
from tests.kafka.embedded.administration import administration
from tests.kafka.new_topics import create
from tests.kafka.unreadable_batch import append

PARTITION = 1


@pytest.fixture
async def topic(settings: Settings, prefix: str) -> str:
    """Create an empty topic of two partitions."""
    await create(settings, prefix, partitions=2)
    return prefix


async def write(settings: Settings, topic: str, *values: str, partition: int = PARTITION) -> list[int]:
    """Write values, and return the time at which each was written."""
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        written = [await producer.send_and_wait(topic, value.encode(), partition=partition) for value in values]
    return [each.timestamp for each in written]


async def rest(reader: LogReader) -> list[str]:
    async with asyncio.timeout(30):
        return [record.value.decode() async for record in reader.read_to_end()]


async def test_every_record_of_the_partition_is_read_once_and_later_ones_when_asked_again(
    settings: Settings, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MAX_RECORDS", 2)
    written = [str(number) for number in range(5)]
    await write(settings, topic, "of another partition", partition=0)
    async with LogReader(topic, partition=PARTITION, settings=settings) as reader:
        assert await rest(reader) == []
        await write(settings, topic, *written)
        assert await rest(reader) == written
        assert await reader.position() == await reader.end() == 5
        assert await rest(reader) == []
        await write(settings, topic, "new")
        assert await rest(reader) == ["new"]


async def test_what_retention_has_deleted_is_not_waited_for(settings: Settings, topic: str) -> None:
    await write(settings, topic, "a", "b", "c")
    async with administration(settings.brokers) as admin:
        await admin.delete_records({TopicPartition(topic, PARTITION): RecordsToDelete(before_offset=2)})
    async with LogReader(topic, partition=PARTITION, settings=settings) as reader:
        assert await rest(reader) == ["c"]


async def test_a_reader_that_begins_at_the_end_misses_nothing_written_after_its_start(
    settings: Settings, topic: str
) -> None:
    await write(settings, topic, "old")
    async with LogReader(topic, partition=PARTITION, settings=settings, from_beginning=False) as reader:
        await write(settings, topic, "new")
        async with asyncio.timeout(30):
            assert (await reader.next()).value == b"new"


async def test_a_reader_begins_with_the_first_record_of_a_time_or_with_what_comes_after(
    settings: Settings, topic: str
) -> None:
    await write(settings, topic, "old")
    await asyncio.sleep(0.01)
    (since_ms,) = await write(settings, topic, "new")
    reader = LogReader(topic, partition=PARTITION, settings=settings)
    await reader.start(since_ms=since_ms)
    assert await rest(reader) == ["new"]
    await reader.stop()
    await reader.start(since_ms=since_ms + 3_600_000)
    assert await rest(reader) == []
    await write(settings, topic, "newer")
    assert await rest(reader) == ["newer"]
    await reader.stop()


async def test_a_fetch_without_news_ends_in_time_with_nothing(settings: Settings, topic: str) -> None:
    async with asyncio.timeout(30), LogReader(topic, settings=settings) as reader:
        assert await reader.fetch(timeout_ms=10) == []
        await write(settings, topic, "news", partition=0)
        assert [record.value for record in await reader.fetch(timeout_ms=20_000)] == [b"news"]


async def test_a_check_sees_the_topics_and_ends_the_start_by_what_it_raises(settings: Settings, topic: str) -> None:
    def refuse(existing: Container[str]) -> None:
        assert topic in existing
        raise LookupError("not this one")

    reader = LogReader(topic, settings=settings)
    with pytest.raises(LookupError):
        await reader.start(check=refuse)
    # Nothing is left open, which an unclosed consumer would complain of, and a second stop does no harm.
    await reader.stop()


async def test_a_reader_that_was_never_started_can_be_stopped(settings: Settings) -> None:
    await LogReader("nowhere", settings=settings).stop()


async def test_a_record_that_cannot_be_read_comes_in_its_place_with_its_fault(settings: Settings, topic: str) -> None:
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        await append(producer, TopicPartition(topic, PARTITION), [b"a", b"b", b"c"], spoiled={1})
    await write(settings, topic, "d")
    async with asyncio.timeout(30), LogReader(topic, partition=PARTITION, settings=settings) as reader:
        one_by_one = [await reader.next() for _ in range(4)]
    async with asyncio.timeout(30), LogReader(topic, partition=PARTITION, settings=settings) as reader:
        together = [record async for record in reader.read_to_end()]
    for records in (one_by_one, together):
        assert [record.value for record in records] == [b"a", b"b", b"c", b"d"]
        assert [isinstance(record, UnreadableRecord) for record in records] == [False, True, False, False]


async def test_a_group_goes_on_at_its_last_commit(settings: Settings, topic: str, prefix: str) -> None:
    async def read(count: int) -> list[bytes | None]:
        async with asyncio.timeout(30), LogReader(topic, settings=settings, group=f"{prefix}-readers") as reader:
            records = [await reader.next() for _ in range(count)]
            await reader.commit(records[0].offset + 1)
        return [record.value for record in records]

    await write(settings, topic, "a", "b", "c", partition=0)
    assert await read(3) == [b"a", b"b", b"c"]
    assert await read(2) == [b"b", b"c"]


@pytest.mark.parametrize("refusal", [CommitFailedError, IllegalStateError])
async def test_a_commit_of_a_partition_that_has_gone_to_another_member_is_no_error(
    refusal: type[Exception], settings: Settings, topic: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(offsets: Any) -> None:
        raise refusal

    async with LogReader(topic, settings=settings, group=f"{prefix}-readers") as reader:
        monkeypatch.setattr(reader._consumer, "commit", refuse)
        await reader.commit(1)
