"""Tests of reporter and subscriber on a real broker: nothing lost, nothing twice, no wait for what will not come."""

import asyncio
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import numpy as np
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from stream_ldp.client.answers import fetch_answers
from stream_ldp.client.errors import DeliveryError, MissingTopic, WrongCollection
from stream_ldp.client.reporter import Reporter
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.connection import BrokerUnreachable
from stream_ldp.kafka.embedded import EmbeddedKafka, EmbeddedMock
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.content_type import BATCH
from stream_ldp.records.answer import Estimate
from stream_ldp.records.layout import JointLayout
from tests.client.examples import collection_of, of_minute
from tests.client.reports import unlimited
from tests.kafka.embedded.administration import administration
from tests.kafka.new_topics import create

PARTITIONS = 4
SECRET = bytes(range(32))
RECORD = {"bathing": "no", "mobility": "some"}


async def create_topics(settings: Settings) -> None:
    names = settings.topic_names
    await create(settings, names.reports("care-survey"), partitions=PARTITIONS)
    await create(settings, names.answers_of("care-survey", "estimates"))
    await create(settings, names.provisional("care-survey"))


@pytest.fixture
async def topics(settings: Settings) -> Settings:
    """Create the collection's topics on the cluster and return its settings."""
    await create_topics(settings)
    return settings


def revive(broker: EmbeddedKafka) -> None:
    """Start a killed broker as soon as its process has let go of the port."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", broker.port)) != 0:
                break
        time.sleep(0.01)
    broker.start()


async def batches_of(settings: Settings) -> wire.Decoded:
    """Decode every batch on the reports topic; each must be good."""
    topic = settings.topic_names.reports("care-survey")
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    consumer = AIOKafkaConsumer(**settings.client_options(), auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        records = []
        while any([await consumer.position(partition) < ends[partition] for partition in partitions]):
            for some in (await consumer.getmany(timeout_ms=100)).values():
                records += some
    finally:
        await consumer.stop()
    collection = collection_of()
    decoded = wire.decode(
        [record.value for record in records], formats={collection.fingerprint: JointLayout(collection)}
    )
    assert decoded.rejected == []
    assert [record.key for record in records] == decoded.batch_ids
    assert all(record.headers == tuple(BATCH) for record in records)
    return decoded


async def test_every_report_arrives_once(topics: Settings) -> None:
    values = np.zeros((100_000, 2), dtype=np.int64)
    async with Reporter(collection_of(), settings=topics, secret=SECRET) as reporter:
        await reporter.report_many(values, secrets=None)
        await reporter.report(RECORD)
    assert reporter.acknowledged == 100_001
    decoded = await batches_of(topics)
    assert decoded.counts.sum() == 100_001
    assert len(set(decoded.batch_ids)) == len(decoded.batch_ids)


async def test_a_missing_topic_raises_an_error_at_once_and_is_not_created(settings: Settings) -> None:
    async with asyncio.timeout(20):
        for _ in range(2):
            with pytest.raises(
                MissingTopic, match=r"topics create COLLECTION\.yaml --brokers .* --topic-prefix test-"
            ):
                await Reporter(collection_of(), settings=settings).__aenter__()
            with pytest.raises(MissingTopic, match=r"estimates, or another one of answers, does not exist"):
                await Subscriber("care-survey", settings=settings).__aenter__()
    async with administration(settings.brokers) as admin:
        assert not [topic for topic in await admin.list_topics() if topic.startswith(settings.topic_prefix)]


async def test_a_client_with_another_collection_file_than_the_registered_one_sends_nothing(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    registered = collection_of(mechanism="{kind: k-rr, epsilon: 2}")
    specs = topic_specs([registered], prefix=settings.topic_prefix, partials_partitions=1)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
    async with Reporter(collection_of(), settings=settings) as early:
        assert "collection care-survey is not registered" in caplog.text
        assert await early.flush() == 0
    await register(settings, [Registration.of(registered)])
    with pytest.raises(WrongCollection, match=r"mechanism\.kind \(registered: k-rr; here: rr-ldp\)"):
        await Reporter(collection_of(), settings=settings).__aenter__()
    assert len((await batches_of(settings)).counts) == 0


async def test_an_unreachable_broker_raises_an_error_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens, and nobody else can
        nowhere = Settings.load(brokers=f"127.0.0.1:{taken.getsockname()[1]}")
        async with asyncio.timeout(20):
            with pytest.raises(BrokerUnreachable, match=r"connection refused"):
                await Reporter(collection_of(), settings=nowhere).__aenter__()
            with pytest.raises(BrokerUnreachable, match=r"connection refused"):
                await Subscriber("care-survey", settings=nowhere).__aenter__()


async def test_a_restarted_broker_gets_every_report_once_and_a_dead_one_is_given_up(
    mortal: EmbeddedKafka,
) -> None:
    settings = Settings.load(brokers=mortal.bootstrap)
    await create_topics(settings)
    # As patient as the test may be: a busy machine takes its time to start the broker again.
    async with Reporter(
        collection_of(),
        settings=settings,
        secret=SECRET,
        ledger=unlimited(SECRET),
        max_reports=1,
        delivery_timeout=150.0,
    ) as reporter:
        for count in range(600):
            await reporter.report(RECORD)
            if count == 300:
                await asyncio.to_thread(mortal.kill)
                restart = asyncio.create_task(asyncio.to_thread(revive, mortal))
        await restart
    arrived = await batches_of(settings)
    # A batch whose acknowledgement died with the broker was sent again, as the same bytes.
    assert len(set(arrived.batch_ids)) == 600
    assert set(arrived.counts.tolist()) == {1}

    async def scenario() -> None:
        async with Reporter(collection_of(), settings=settings, secret=SECRET, delivery_timeout=1.0) as reporter:
            await asyncio.to_thread(mortal.kill)
            await reporter.report(RECORD)

    async with asyncio.timeout(20):
        with pytest.raises(DeliveryError, match=r"^1 report .* no answer within 1 s"):
            await scenario()
    assert asyncio.all_tasks() == {asyncio.current_task()}, "nobody goes on trying"


@asynccontextmanager
async def frozen(broker: EmbeddedMock) -> AsyncIterator[None]:
    """Stop a broker's process, as a machine that hangs does: its connections stay open."""
    (process,) = (each.pid for each in multiprocessing.active_children() if each.daemon)
    assert process is not None
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.fixture
def mock() -> Iterator[EmbeddedMock]:
    with EmbeddedMock() as broker:
        yield broker


async def test_when_the_broker_freezes_the_next_call_raises_what_is_lost_and_nothing_more_is_sent(
    mock: EmbeddedMock,
) -> None:
    settings = Settings.load(brokers=mock.bootstrap)
    names = settings.topic_names
    mock.touch([names.reports("care-survey"), names.collections])
    taken = 0

    async def report_for_ever() -> None:
        nonlocal taken
        while True:
            await reporter.report_many(np.zeros((3, 2), dtype=np.int64), secrets=None)
            taken += 3
            await asyncio.sleep(0.02)

    async with asyncio.timeout(60):
        reporter = Reporter(collection_of(), settings=settings, delivery_timeout=2.0)
        await reporter.__aenter__()
        await reporter.report_many(np.zeros((500, 2), dtype=np.int64), secrets=None)
        assert await reporter.flush() == 500
        async with frozen(mock):
            began = time.monotonic()
            with pytest.raises(DeliveryError, match=r"no answer within 2 s") as lost:
                await report_for_ever()
            # It was 36 s at a timeout of 5 s. The rest is for a busy machine.
            assert time.monotonic() - began < 12.0
            assert (lost.value.reports, reporter.acknowledged) == (taken, 500)
            with pytest.raises(DeliveryError):
                await reporter.report_many([], secrets=None)
            with pytest.raises(DeliveryError):
                await reporter.__aexit__(None, None, None)
        assert asyncio.all_tasks() == {asyncio.current_task()}, "nobody goes on trying"
    decoded = await batches_of(settings)
    # Of what was lost, the broker got no more than what was on its way to it: one batch for each partition.
    assert 500 <= decoded.counts.sum() <= 500 + taken - lost.value.unsent
    assert len(decoded.counts) <= 1 + 2 * PARTITIONS


async def publish(settings: Settings, *estimates: Estimate) -> None:
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        names = settings.topic_names
        for estimate in estimates:
            topic = (
                names.answers_of("care-survey", "estimates") if estimate.final else names.provisional("care-survey")
            )
            await producer.send_and_wait(topic, key=estimate.key, value=estimate.to_bytes())


async def take(subscriber: Subscriber, count: int) -> list[Estimate]:
    async with asyncio.timeout(30):
        return [await anext(subscriber) for _ in range(count)]


async def test_a_subscriber_gets_the_history_the_news_or_both(topics: Settings) -> None:
    await publish(topics, of_minute(0), of_minute(1))
    async with Subscriber("care-survey", settings=topics, from_beginning=True, follow=False) as history:
        assert [estimate async for estimate in history] == [of_minute(0), of_minute(1)]
    async with (
        Subscriber("care-survey", settings=topics) as news,
        Subscriber("care-survey", settings=topics, from_beginning=True) as both,
    ):
        await publish(topics, of_minute(2))
        assert await take(news, 1) == [of_minute(2)]
        assert await take(both, 3) == [of_minute(0), of_minute(1), of_minute(2)]


async def test_a_history_ends_though_the_last_answers_were_given_up(topics: Settings, prefix: str) -> None:
    """A worker that was killed leaves a transaction behind, whose answers nobody is to see."""
    await publish(topics, of_minute(0))
    producer = AIOKafkaProducer(**topics.client_options(), transactional_id=f"{prefix}-killed")
    async with producer:
        await producer.begin_transaction()
        await producer.send_and_wait(
            topics.topic_names.answers_of("care-survey", "estimates"), of_minute(1).to_bytes()
        )
        await producer.abort_transaction()
    async with (
        asyncio.timeout(30),
        Subscriber("care-survey", settings=topics, from_beginning=True, follow=False) as history,
    ):
        assert [estimate async for estimate in history] == [of_minute(0)]


async def test_answers_are_fetched_by_name_and_by_time(topics: Settings) -> None:
    history = [of_minute(minute) for minute in range(3)]
    await publish(topics, *history, of_minute(3, final=False))
    assert list(await fetch_answers("care-survey", settings=topics)) == history[2:]
    since = datetime.fromtimestamp(60, UTC)
    assert list(await fetch_answers(collection_of(), settings=topics, last=None, since=since)) == history[1:]


async def test_an_empty_topic_has_no_history(topics: Settings) -> None:
    async with (
        asyncio.timeout(30),
        Subscriber("care-survey", settings=topics, from_beginning=True, follow=False) as history,
    ):
        assert [estimate async for estimate in history] == []


async def test_a_group_resumes_where_it_stopped_and_repeats_what_may_be_unprocessed(
    topics: Settings, prefix: str
) -> None:
    await publish(topics, *map(of_minute, range(4)))

    def member() -> Subscriber:
        return Subscriber("care-survey", settings=topics, from_beginning=True, group=f"{prefix}-readers")

    async with member() as subscriber:
        assert await take(subscriber, 2) == [of_minute(0), of_minute(1)]

    async def scenario() -> None:
        async with member() as subscriber:
            assert await take(subscriber, 1) == [of_minute(2)]
            raise LookupError("of the application")

    with pytest.raises(LookupError):
        await scenario()
    async with member() as subscriber:
        assert await take(subscriber, 2) == [of_minute(2), of_minute(3)]
