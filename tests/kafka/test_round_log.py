"""Tests of how a worker reads the rounds topic, whoever has written it."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError

from stream_ldp.kafka import round_log
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.memory import MemoryBroker, connected
from stream_ldp.kafka.round_log import RoundLog
from stream_ldp.kafka.settings import Settings
from stream_ldp.sets.asking import ROUNDS
from stream_ldp.sets.rounds import Round
from tests.client.items import films
from tests.service.epochs import FILMS, ItemDeployment
from tests.sets.examples import inquiry_of


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> ItemDeployment:
    return await ItemDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=FILMS)


@pytest.fixture
def passed_over() -> list[None]:
    """One entry for each record that the log has passed over."""
    return []


@pytest.fixture
async def log(deployment: ItemDeployment, passed_over: list[None]) -> AsyncIterator[RoundLog]:
    log = RoundLog(
        deployment.collection,
        ROUNDS,
        topic=deployment.names.rounds("survey"),
        settings=deployment.settings,
        pass_over=lambda: passed_over.append(None),
    )
    await log.start()
    yield log
    await log.stop()


def asked(deployment: ItemDeployment, *candidates: int) -> Round:
    return Round.of(deployment.collection, inquiry_of(2, list(candidates)), epoch=7)


async def tell(deployment: ItemDeployment, value: bytes, *, time_ms: int | None = None) -> None:
    producer = AIOKafkaProducer(**deployment.settings.client_options(), acks="all")
    await producer.start()
    try:
        topic = deployment.names.rounds("survey")
        await producer.send_and_wait(topic, value, key=b"7|2", timestamp_ms=time_ms)
    finally:
        await producer.stop()


async def test_a_round_is_found_as_soon_as_it_is_published_and_not_before(
    deployment: ItemDeployment, log: RoundLog
) -> None:
    first, second = asked(deployment, 1, 2), asked(deployment, 1, 3)
    assert await log.find([first.fingerprint]) == []
    await tell(deployment, first.to_bytes())
    assert await log.find([second.fingerprint, first.fingerprint]) == [first]
    # Under the same key: only compaction drops the one that was there before, and not from a reader's memory.
    await tell(deployment, second.to_bytes())
    assert await log.find([second.fingerprint, first.fingerprint]) == [second, first]


async def test_all_who_ask_while_a_read_is_under_way_share_the_next_one(
    deployment: ItemDeployment, log: RoundLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asked(deployment, 1, 2)
    begun, go_on, reads = asyncio.Event(), asyncio.Event(), 0
    catch_up = log._catch_up

    async def count_and_wait() -> None:
        nonlocal reads
        reads += 1
        # The end of the log as this read sees it is that of before the round.
        await catch_up()
        begun.set()
        await go_on.wait()

    monkeypatch.setattr(log, "_catch_up", count_and_wait)
    early = asyncio.create_task(log.since(0))
    await begun.wait()
    await tell(deployment, first.to_bytes())
    late = [asyncio.create_task(log.find([first.fingerprint])) for _ in range(50)]
    strangers = [asyncio.create_task(log.find([bytes(16)])) for _ in range(50)]
    await asyncio.sleep(0)
    go_on.set()
    assert await early == []
    assert await asyncio.gather(*late, *strangers) == [[first]] * 50 + [[]] * 50
    assert reads == 2


async def test_who_asks_and_gives_up_takes_nothing_from_others(
    deployment: ItemDeployment, log: RoundLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asked(deployment, 1, 2)
    await tell(deployment, first.to_bytes())
    impatient, patient = (asyncio.create_task(log.find([first.fingerprint])) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    assert await patient == [first]


async def test_a_record_that_is_not_a_round_is_passed_over_with_a_warning_and_counted(
    deployment: ItemDeployment, log: RoundLog, passed_over: list[None], caplog: pytest.LogCaptureFixture
) -> None:
    first = asked(deployment, 1, 2)
    beyond = first.model_copy(update={"candidates": (1, 128)})
    for value in (b"", b"garbage", beyond.to_bytes(), first.to_bytes()):
        await tell(deployment, value)
    assert await log.find([beyond.fingerprint, first.fingerprint]) == [first]
    warnings = [record.getMessage() for record in caplog.records if record.name == round_log.__name__]
    topic = deployment.names.rounds("survey")
    assert warnings == [
        f"records that are no rounds of ours are passed over: 3, the last {topic} offset 2: "
        "a candidate is not one of the items 0 to 127"
    ]
    assert len(passed_over) == 3


async def test_rounds_are_remembered_even_if_a_writers_clock_is_far_ahead(
    deployment: ItemDeployment, log: RoundLog
) -> None:
    first, second = asked(deployment, 1, 2), asked(deployment, 1, 3)
    await tell(deployment, first.to_bytes())
    await tell(deployment, second.to_bytes(), time_ms=int(time.time() * 1_000) + 10**10)
    assert await log.find([first.fingerprint, second.fingerprint]) == [first, second]


async def test_rounds_are_remembered_no_longer_than_the_topic_keeps_them(
    deployment: ItemDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_log, "rounds_kept_ms", lambda window: 50)
    log = RoundLog(
        deployment.collection, ROUNDS, topic=deployment.names.rounds("survey"), settings=deployment.settings
    )
    await log.start()
    try:
        old, new = asked(deployment, 1, 2), asked(deployment, 1, 3)
        await tell(deployment, old.to_bytes())
        assert await log.find([old.fingerprint]) == [old]
        await asyncio.sleep(0.1)
        await tell(deployment, new.to_bytes())
        assert await log.find([old.fingerprint, new.fingerprint]) == [new]
    finally:
        await log.stop()


async def test_a_start_reads_the_newest_rounds_and_the_others_when_one_of_them_is_wanted(
    deployment: ItemDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_log, "NEWEST", 1)
    old, new = asked(deployment, 1, 2), asked(deployment, 1, 3)
    for each in (old, new):
        await tell(deployment, each.to_bytes())
    log = RoundLog(
        deployment.collection, ROUNDS, topic=deployment.names.rounds("survey"), settings=deployment.settings
    )
    await log.start()
    try:
        assert await log.find([new.fingerprint]) == [new]
        assert list(log._rounds) == [new.fingerprint]
        assert await log.find([old.fingerprint, new.fingerprint]) == [old, new]
    finally:
        await log.stop()


async def test_a_start_that_fails_leaves_no_connection_open_and_can_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[LogReader] = []
    start, end, stop = LogReader.start, LogReader.end, LogReader.stop

    async def fail(_: LogReader) -> int:
        raise KafkaConnectionError("the broker went away")

    async def note_start(reader: LogReader) -> None:
        opened.append(reader)
        await start(reader)

    async def note_stop(reader: LogReader) -> None:
        opened.remove(reader)
        await stop(reader)

    monkeypatch.setattr(LogReader, "start", note_start)
    monkeypatch.setattr(LogReader, "stop", note_stop)
    monkeypatch.setattr(LogReader, "end", fail)
    log = RoundLog(films(), ROUNDS, topic="rounds", settings=Settings.load())
    with connected(MemoryBroker(topics={"rounds"}, now_ms=1)):
        with pytest.raises(KafkaConnectionError):
            await log.start()
        assert opened == []
        monkeypatch.setattr(LogReader, "end", end)
        await log.start()
        assert await log.find([b"unknown"]) == []
        await log.stop()
    assert opened == []
