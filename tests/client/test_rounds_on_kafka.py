"""Tests of the clients of item collections on a real broker: how they follow the topic of rounds."""

import asyncio
import math
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from stream_ldp.client.reporter import Reporter, now_ms
from stream_ldp.kafka.settings import Settings
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from stream_ldp.pipeline import wire
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.rounds import Round
from tests.client.items import film_round, films
from tests.kafka.new_topics import create

#: Two phases, which ask everybody.
COLLECTION = films(mechanism="{kind: ldpminer, epsilon: 4, k: 2, k_max: 4, set_size: 2}")
SECRET = bytes(range(32))


@pytest.fixture
async def topics(settings: Settings) -> Settings:
    """Create the collection's topics on the cluster and return its settings."""
    names = settings.topic_names
    await create(settings, names.reports("films"), names.rounds("films"))
    return settings


async def publish(settings: Settings, *rounds: Round) -> None:
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        for asked in rounds:
            topic = settings.topic_names.rounds("films")
            await producer.send_and_wait(topic, key=asked.key, value=asked.to_bytes(), partition=0)


async def reports_on(settings: Settings, asked: Round) -> int:
    """Count the reports to a round on the reports topic."""
    layout = PhaseLayout(COLLECTION, None if asked.phase == 1 else asked)
    partition = TopicPartition(settings.topic_names.reports("films"), 0)
    consumer = AIOKafkaConsumer(**settings.client_options(), auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([partition])
        end = (await consumer.end_offsets([partition]))[partition]
        values = []
        while await consumer.position(partition) < end:
            values += [record.value for record in (await consumer.getmany(timeout_ms=100)).get(partition, [])]
    finally:
        await consumer.stop()
    return int(wire.decode(values, formats={layout.fingerprint: layout}).counts.sum())


class Clock:
    """A clock that goes on from the beginning of the last second phase: there is time, however slow the machine."""

    def __init__(self) -> None:
        size = COLLECTION.schedule.size_ms
        self.epoch = (now_ms() - size) // (2 * size)
        self._behind = now_ms() - COLLECTION.schedule.window_of(self.epoch, 2)

    def __call__(self) -> int:
        return now_ms() - self._behind


def user_of(topics: Settings, ledger: PrivacyLedger, clock: Clock, reported: asyncio.Queue[Round]) -> Reporter:
    return Reporter(
        COLLECTION,
        settings=topics,
        secret=SECRET,
        ledger=ledger,
        clock=clock,
        spread=False,
        on_report=reported.put_nowait,
    )


async def test_a_client_finds_an_earlier_round_and_passes_over_stale_and_forged_ones(
    topics: Settings, tmp_path: Path
) -> None:
    ledger = PrivacyLedger.create(tmp_path / "ledger", secret=SECRET, terms=Terms(budget=math.inf))
    clock, reported = Clock(), asyncio.Queue[Round]()

    def user() -> Reporter:
        return user_of(topics, ledger, clock, reported)

    stale, asked = (film_round(2, epoch=each, collection=COLLECTION) for each in (clock.epoch - 1, clock.epoch))
    forged = asked.model_copy(update={"candidates": (0, 0)})
    await publish(topics, stale, forged, asked)
    async with asyncio.timeout(50), user() as reporter:
        await reporter.report({"Alien"})
        assert await reported.get() == asked
    assert reporter.refused == 1

    async with (
        user() as reporter,
        Reporter(COLLECTION, settings=topics, clock=clock, spread=False) as others,
    ):
        await reporter.report({"Alien"})
        assert await others.respondents([{"Brazil"}] * 10, secrets=None).answer(asked) == 10
    assert reporter.acknowledged == 0
    assert await reports_on(topics, asked) == 11


async def test_a_round_that_arrives_while_a_client_waits_gets_a_report(topics: Settings) -> None:
    ledger = PrivacyLedger.in_memory(secret=SECRET)
    clock, reported = Clock(), asyncio.Queue[Round]()
    asked = film_round(2, epoch=clock.epoch, collection=COLLECTION)
    async with asyncio.timeout(50), user_of(topics, ledger, clock, reported) as reporter:
        await reporter.report(())
        # By now it waits; before, it would find the round as one that was there.
        await asyncio.sleep(0.5)
        await publish(topics, asked)
        assert await reported.get() == asked
    assert await reports_on(topics, asked) == 1
