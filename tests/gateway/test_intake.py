"""Tests of what a gateway does with batches that come together: it lets in exactly what a worker would count."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from aiokafka.errors import KafkaConnectionError

from stream_ldp.collection import Collection
from stream_ldp.gateway import intake as module
from stream_ldp.gateway.intake import Intake
from stream_ldp.gateway.metrics import GatewayMetrics
from stream_ldp.http.refusal import Refused
from stream_ldp.kafka.producer import Producer
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.layout import Layout
from stream_ldp.sets.rounds import Round
from tests.client.examples import collection_of
from tests.client.fakes import FakeBroker
from tests.client.rankings import films
from tests.paths import GOLDEN
from tests.sets.examples import inquiry_of

NOW_MS = 1_800_000_000_000
MALFORMED = json.loads((GOLDEN / "malformed.json").read_text(encoding="utf-8"))


def batch(
    collection: Collection, *, fingerprint: bytes | None = None, time_ms: int = NOW_MS, width: int = 1
) -> bytes:
    rows = np.zeros((3, width), dtype=np.uint8)
    found = fingerprint or collection.fingerprint
    return wire.encode(wire.Batch(fingerprint=found, batch_id=bytes(range(16)), time_ms=time_ms, rows=rows))


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record how many batches are judged at a time."""
    found: list[int] = []
    decode = wire.decode

    def decoded(records: Sequence[bytes], *, formats: Mapping[bytes, Layout]) -> wire.Decoded:
        found.append(len(records))
        return decode(records, formats=formats)

    monkeypatch.setattr(wire, "decode", decoded)
    return found


@asynccontextmanager
async def taking(collection: Collection, *, rounds: Any = None) -> AsyncIterator[Intake]:
    producer = Producer(Settings.load(brokers="nowhere:1"), idempotent=False)
    await producer.start()
    async with asyncio.timeout(20):
        yield Intake(
            collection,
            topic="reports",
            producer=producer,
            rounds=rounds,
            metrics=GatewayMetrics([collection.name]),
            now_ms=lambda: NOW_MS,
        )


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: str(case["what"]))
async def test_what_a_worker_refuses_is_refused_with_the_same_reason(
    broker: FakeBroker, case: dict[str, str]
) -> None:
    collection = collection_of()
    record = bytes.fromhex(case["record"])
    formats = {collection.fingerprint: kind_of(collection).layout(collection)}
    (_, by_a_worker), *_ = wire.decode([record], formats=formats).rejected
    async with taking(collection) as intake:
        with pytest.raises(Refused) as refused:
            await intake.take(record)
    assert (refused.value.status, refused.value.reason) == (400, by_a_worker.reason) == (400, case["reason"])
    assert str(refused.value) == by_a_worker.detail
    assert broker.sent == []


async def test_batches_that_come_together_go_together_and_each_client_has_its_own_answer(
    broker: FakeBroker, groups: list[int]
) -> None:
    latest = NOW_MS + collection_of().window.ahead_ms
    good, last, early = (batch(collection_of(), time_ms=time_ms) for time_ms in (NOW_MS, latest, latest + 1))
    async with taking(collection_of()) as intake:
        gone = intake.take(good)
        waiting = [intake.take(each) for each in (b"no batch", early, last, good)]
        gone.cancel()
        *refused, third, fourth = await asyncio.gather(*waiting, return_exceptions=True)
    assert (third, fourth) == (3, 3)
    assert [each.reason for each in refused if isinstance(each, Refused)] == ["too_short", "future_time"]
    assert groups == [5]
    values = [arguments["value"] for _, arguments in broker.sent]
    assert values == [good, last, good], "also that of a client that has gone"


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
    async with taking(collection_of()) as intake:
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
            taken.append(intake.take(batch(collection_of())))
            while len(broker.sent) < number:
                await asyncio.sleep(0.001)
        broker.release()
        await asyncio.gather(*taken)


async def test_an_error_of_the_brokers_is_that_of_every_client(broker: FakeBroker) -> None:
    broker.error = KafkaConnectionError("gone")
    async with taking(collection_of()) as intake:
        waiting = [intake.take(batch(collection_of())) for _ in range(3)]
        found = await asyncio.gather(*waiting, return_exceptions=True)
    assert Counter(map(type, found)) == {KafkaConnectionError: 3}


async def test_an_error_of_the_gateway_itself_leaves_no_client_waiting(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> wire.Decoded:
        raise RuntimeError("a slip")

    monkeypatch.setattr(wire, "decode", fail)
    async with taking(collection_of()) as intake:
        with pytest.raises(RuntimeError, match="a slip"):
            await intake.take(batch(collection_of()))


@pytest.mark.usefixtures("broker")
async def test_a_cancellation_leaves_no_client_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cancelled(*_: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(Intake, "_publish", cancelled)
    async with taking(collection_of()) as intake:
        taken = intake.take(batch(collection_of()))
        await asyncio.wait([taken], timeout=5)
        assert isinstance(taken.exception(), TimeoutError)


class Rounds:
    """Rounds of a collection, and one that is looked for without end."""

    def __init__(self, *layouts: Layout, lost: bytes) -> None:
        self._layouts, self._lost = layouts, lost
        self.asked: list[bytes] = []

    async def layouts(self, fingerprints: Iterable[bytes]) -> list[Layout]:
        (fingerprint,) = fingerprints
        self.asked.append(fingerprint)
        if fingerprint == self._lost:
            await asyncio.Event().wait()
        return [each for each in self._layouts if each.fingerprint == fingerprint]


async def test_an_answer_to_a_round_is_let_in_and_a_round_that_is_looked_for_keeps_no_other_batch_waiting(
    broker: FakeBroker,
) -> None:
    collection = films()
    asked = Round.of(collection, inquiry_of(2, [0, 1]), epoch=7)
    kind = kind_of(collection)
    assert kind.rounds is not None
    layout = kind.rounds.layout(collection, asked)
    lost, no_round = bytes(16), bytes(15) + b"\x01"
    rounds = Rounds(layout, lost=lost)
    answers = [
        batch(collection, fingerprint=fingerprint, width=row_width(layout.bits))
        for fingerprint in (lost, asked.fingerprint, no_round)
    ]
    async with taking(collection, rounds=rounds) as intake:
        waiting, known, *wrong = (intake.take(each) for each in (*answers, b"GET / HTTP/1.1"))
        assert await known == 3
        found = await asyncio.gather(*wrong, return_exceptions=True)
        assert [each.reason for each in found if isinstance(each, Refused)] == ["unknown_fingerprint", "too_short"]
        assert not waiting.done()
    assert rounds.asked == [lost, asked.fingerprint, no_round], "nobody asks about what is no batch"
