"""Tests of what a gateway does with batches that come together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from aiokafka.errors import KafkaConnectionError

from stream_ldp.collection import Collection
from stream_ldp.gateway import intake as module
from stream_ldp.gateway.admission import Admission, Judged
from stream_ldp.gateway.intake import Intake, RoundLayouts
from stream_ldp.gateway.metrics import GatewayMetrics
from stream_ldp.http.refusal import Refused
from stream_ldp.kafka.producer import Producer
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.layout import Layout
from stream_ldp.sets.rounds import Round
from tests.client.examples import collection_of
from tests.client.fakes import FakeBroker
from tests.client.rankings import films
from tests.gateway.test_admission import NOW_MS, batch
from tests.sets.examples import inquiry_of


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record how many batches are judged at a time."""
    found: list[int] = []
    judge = Admission.judge

    def judged(self: Admission, records: list[bytes], **options: object) -> Judged:
        found.append(len(records))
        return judge(self, records, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Admission, "judge", judged)
    return found


@asynccontextmanager
async def taking(collection: Collection, *, rounds: RoundLayouts | None = None) -> AsyncIterator[Intake]:
    producer = Producer(Settings.load(brokers="nowhere:1"), idempotent=False)
    await producer.start()
    intake = Intake(
        collection,
        topic="reports",
        producer=producer,
        rounds=rounds,
        metrics=GatewayMetrics([collection.name]),
        now_ms=lambda: NOW_MS,
    )
    try:
        yield intake
    finally:
        await intake.stop()


async def test_batches_that_come_together_go_together_and_each_client_has_its_own_answer(
    broker: FakeBroker, groups: list[int]
) -> None:
    good = batch(collection_of())
    async with taking(collection_of()) as intake:
        gone = intake.take(good)
        waiting = [intake.take(each) for each in (b"no batch", good, good)]
        gone.cancel()
        bad, *others = await asyncio.gather(*waiting, return_exceptions=True)
    assert others == [3, 3]
    assert isinstance(bad, Refused)
    assert (bad.status, bad.reason) == (400, "too_short")
    assert groups == [4]
    assert [arguments["value"] for _, arguments in broker.sent] == [good] * 3, "also that of a client that has gone"


async def test_a_large_batch_waits_for_no_other(
    broker: FakeBroker, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GATHER_SECONDS", 1_000)
    monkeypatch.setattr(module, "GATHER_BYTES", len(batch(collection_of())) + 1)
    async with taking(collection_of()) as intake:
        assert await asyncio.gather(*(intake.take(batch(collection_of())) for _ in range(4))) == [3] * 4
    assert groups == [2, 2]


async def test_batches_wait_for_those_under_way_but_not_for_long(
    broker: FakeBroker, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GATHER_SECONDS", 0.001)
    monkeypatch.setattr(module, "GATHER_TIMES", 10**9)
    broker.holding = True
    async with taking(collection_of()) as intake, asyncio.timeout(20):
        taken = [intake.take(batch(collection_of()))]
        await broker.arrival.wait()
        for _ in range(2):
            taken.append(intake.take(batch(collection_of())))
            await asyncio.sleep(0.01)  # So that it would have gone alone.
        assert groups == [1]
        broker.release()
        assert await asyncio.gather(*taken) == [3] * 3
        assert groups == [1, 2]
        monkeypatch.setattr(module, "GATHER_TIMES", 3)
        broker.holding = True
        for number in (4, 5):
            intake.take(batch(collection_of()))
            while len(broker.sent) < number:
                await asyncio.sleep(0.001)


async def test_an_error_of_the_brokers_is_that_of_every_client(broker: FakeBroker) -> None:
    broker.error = KafkaConnectionError("gone")
    async with taking(collection_of()) as intake:
        waiting = [intake.take(batch(collection_of())) for _ in range(3)]
        found = await asyncio.gather(*waiting, return_exceptions=True)
    assert Counter(map(type, found)) == {KafkaConnectionError: 3}


async def test_an_error_of_the_gateway_itself_leaves_no_client_waiting(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Judged:
        raise RuntimeError("a slip")

    monkeypatch.setattr(Admission, "judge", fail)
    async with taking(collection_of()) as intake:
        with pytest.raises(RuntimeError, match="a slip"):
            await intake.take(batch(collection_of()))


async def test_who_waits_when_the_gateway_ends_is_let_go(broker: FakeBroker) -> None:
    broker.holding = True
    async with taking(collection_of()) as intake:
        waiting = intake.take(batch(collection_of()))
        await broker.arrival.wait()
    assert waiting.cancelled()


class Rounds:
    """Rounds of a collection, which are found at once, and others that are looked for without end."""

    def __init__(self, *layouts: Layout) -> None:
        self._layouts = {each.fingerprint: each for each in layouts}
        self.asked: list[bytes] = []

    async def layouts(self, fingerprints: Iterable[bytes]) -> list[Layout]:
        (fingerprint,) = fingerprints
        self.asked.append(fingerprint)
        if fingerprint not in self._layouts:
            await asyncio.Event().wait()
        return [self._layouts[fingerprint]]


async def test_a_round_that_is_looked_for_keeps_no_other_batch_waiting(broker: FakeBroker) -> None:
    collection = films()
    asked = Round.of(collection, inquiry_of(2, [0, 1]), epoch=7)
    kind = kind_of(collection)
    assert kind.rounds is not None
    layout = kind.rounds.layout(collection, asked)
    rounds = Rounds(layout)
    answers = [
        batch(collection, fingerprint=fingerprint, width=row_width(layout.bits))
        for fingerprint in (bytes(16), asked.fingerprint)
    ]
    async with taking(collection, rounds=rounds) as intake:
        unknown, known, none = (intake.take(each) for each in (*answers, b"GET / HTTP/1.1"))
        assert await known == 3
        with pytest.raises(Refused, match="a header has"):
            await none
        assert not unknown.done()
    assert rounds.asked == [bytes(16), asked.fingerprint], "nobody asks about what is no batch"
