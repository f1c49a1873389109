"""Tests that every write is acknowledged, and that an abandoned producer leaves nothing open."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError
from aiokafka.protocol.produce import ProduceRequest

from stream_ldp.client.reporter import now_ms
from stream_ldp.kafka import producer as producer_module
from stream_ldp.kafka.embedded import EmbeddedMock
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.service.worker import STOP_SECONDS
from tests.kafka.new_topics import create


@pytest.fixture
async def topic(settings: Settings, prefix: str) -> str:
    """Create an empty topic of two partitions."""
    await create(settings, prefix, partitions=2)
    return prefix


@pytest.fixture
async def producer(settings: Settings) -> AsyncIterator[Producer]:
    producer = Producer(settings)
    await producer.start()
    yield producer
    await producer.stop()


def record(
    topic: str,
    value: bytes,
    *,
    key: bytes = b"key",
    partition: int | None = 0,
    headers: tuple[tuple[str, bytes], ...] = (),
) -> Record:
    return Record(topic=topic, key=key, value=value, partition=partition, headers=headers)


async def test_what_publish_returns_from_is_on_the_log_in_its_order(
    producer: Producer, settings: Settings, topic: str
) -> None:
    headers = (("reason", b"late"),)
    written = [record(topic, str(number).encode(), headers=headers) for number in range(100)]
    await producer.publish([*written, record(topic, b"other", partition=1)])
    async with LogReader(topic, settings=settings) as reader:
        found = [each async for each in reader.read_to_end()]
    assert [(each.key, each.value, each.headers) for each in found] == [
        (each.key, each.value, headers) for each in written
    ]


async def test_a_record_without_a_partition_goes_where_its_key_belongs(
    producer: Producer, settings: Settings, topic: str
) -> None:
    keys = [str(number).encode() for number in range(1_000, 1_020)] * 2
    await producer.publish([record(topic, b"", key=key, partition=None) for key in keys])
    # As many bytes as are no one batch of a partition.
    together = [(key, bytes(5_000), now_ms(), [("a", b"b")]) for key in keys]
    settled: list[int] = []
    await producer.write_together(
        topic, together, settle=lambda places, error: settled.extend(places) if error is None else None
    )
    assert sorted(settled) == list(range(len(keys)))
    homes: list[set[bytes]] = []
    for partition in range(2):
        async with LogReader(topic, partition=partition, settings=settings) as reader:
            found = [each async for each in reader.read_to_end()]
        homes.append({each.key for each in found})
        assert Counter((each.key, len(each.value), len(each.headers)) for each in found) == Counter(
            {(key, size, headers): 2 for key in homes[-1] for size, headers in ((0, 0), (5_000, 1))}
        )
    assert all(homes)
    assert homes[0] | homes[1] == set(keys)
    assert not homes[0] & homes[1]


async def test_the_topics_that_exist_are_reported(producer: Producer, topic: str) -> None:
    existing = await producer.topics()
    assert topic in existing
    assert f"{topic}-missing" not in existing


async def test_a_record_beyond_the_limit_is_refused(producer: Producer, topic: str) -> None:
    with pytest.raises(MessageSizeTooLargeError):
        await producer.publish([record(topic, bytes(2**20))])


async def test_a_record_whose_answer_is_lost_is_written_once(
    settings: Settings, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert producer_module.IDEMPOTENT_REQUEST_SECONDS < STOP_SECONDS
    monkeypatch.setattr(producer_module, "IDEMPOTENT_REQUEST_SECONDS", 0.5)
    lost: list[asyncio.Future[Any]] = []
    send = AIOKafkaConnection.send

    def send_and_lose_an_answer(connection: Any, request: Any, expect_response: bool = True) -> Any:
        answer = send(connection, request, expect_response)
        if not isinstance(request, ProduceRequest) or lost:
            return answer
        lost.append(asyncio.ensure_future(answer))
        return asyncio.wait_for(asyncio.get_running_loop().create_future(), connection._request_timeout)

    monkeypatch.setattr(AIOKafkaConnection, "send", send_and_lose_an_answer)
    producer = Producer(settings)
    await producer.start()
    try:
        await producer.publish([record(topic, b"once")])
    finally:
        await producer.stop()
    assert len(lost) == 1
    async with LogReader(topic, settings=settings) as reader:
        assert [each.value async for each in reader.read_to_end()] == [b"once"]
    await asyncio.gather(*lost, return_exceptions=True)


async def test_a_record_that_no_answer_names_is_sent_again_and_written_once(
    producer: Producer, settings: Settings, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged: list[Any] = []
    send = AIOKafkaClient.send

    async def send_and_damage_an_answer(client: Any, node: int, request: Any, **options: Any) -> Any:
        answer = await send(client, node, request, **options)
        if isinstance(request, ProduceRequest) and not damaged:
            damaged.append(answer)
            answer.topics = [(topic, [(partition + 2**16, *rest)]) for topic, [(partition, *rest)] in answer.topics]
        return answer

    monkeypatch.setattr(AIOKafkaClient, "send", send_and_damage_an_answer)
    async with asyncio.timeout(30):
        await producer.publish([record(topic, b"once")])
    assert len(damaged) == 1
    async with LogReader(topic, settings=settings) as reader:
        assert [each.value async for each in reader.read_to_end()] == [b"once"]


async def test_publish_gives_up_when_nobody_acknowledges(
    producer: Producer, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def into_the_void(topic: str, **fields: Any) -> asyncio.Future[None]:
        return asyncio.get_running_loop().create_future()

    with monkeypatch.context() as patch:
        patch.setattr(producer, "_acknowledge_seconds", 0.01)
        patch.setattr(producer, "_producer", SimpleNamespace(send=into_the_void))
        with pytest.raises(TimeoutError):
            await producer.publish([record(topic, b"lost")])


async def test_a_record_waits_for_a_leader_as_long_as_its_acknowledgement_may_take(
    settings: Settings, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that is shut down in order leaves its partitions without a leader until it is back."""
    monkeypatch.setattr(producer_module, "REQUEST_SECONDS", 0.5)
    producer = Producer(settings, patience=0.5, acknowledge_seconds=20.0)
    await producer.start()
    try:
        cluster = producer._producer.client.cluster
        with monkeypatch.context() as gone:
            gone.setattr(cluster, "leader_for_partition", lambda partition: -1)
            sent = await producer.send(record(topic, b"patient"))
            await asyncio.sleep(1.5)
            assert not sent.done()
        assert (await asyncio.wait_for(sent, 10)).offset == 0
    finally:
        await producer.stop()


async def test_a_producer_that_was_never_started_sends_nothing_and_can_be_stopped() -> None:
    producer = Producer(Settings.load(brokers="nowhere:1"))
    with pytest.raises(RuntimeError, match="not been started"):
        await producer.publish([record("topic", b"")])
    await producer.stop()


async def test_aiokafka_has_the_privates_that_a_producer_needs() -> None:
    real = AIOKafkaProducer(bootstrap_servers="nowhere:1", enable_idempotence=True)
    assert asyncio.iscoroutinefunction(real._sender.close)
    assert real._closed is False, "set by hand, it must be what tells a producer that is closed"
    assert real._message_accumulator._batch_ttl == producer_module.REQUEST_SECONDS, "for as long a record may wait"
    await real.stop()
    assert real._closed is True


async def test_a_producer_whose_broker_is_gone_is_abandoned_in_time_and_leaves_nothing_behind() -> None:
    with EmbeddedMock() as broker:
        broker.touch(["topic"])
        producer = Producer(Settings.load(brokers=broker.bootstrap))
        await producer.start()
        await producer.publish([record("topic", b"arrives")])
    lost = await producer.send(record("topic", b"does not"))
    async with asyncio.timeout(producer_module.ABANDON_SECONDS + 5):
        await producer.abandon()
    assert not lost.done()
    # An aiokafka producer that does not know that it is closed warns when it is collected.
    await producer.stop()
    assert asyncio.all_tasks() == {asyncio.current_task()}, "nobody goes on trying"


async def test_a_producer_that_cannot_connect_leaves_nothing_open_and_can_be_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []

    class Broken(AIOKafkaProducer):  # type: ignore[misc]
        async def start(self) -> None:
            made.append(self)
            raise KafkaConnectionError("nobody listens")

    monkeypatch.setattr(producer_module, "AIOKafkaProducer", Broken)
    producer = Producer(Settings.load())
    for _ in range(2):
        with pytest.raises(KafkaConnectionError):
            await producer.start()
    assert [each._closed for each in made] == [True, True]
    await producer.stop()
