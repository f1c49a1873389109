"""Tests that an outage is told once, with the reason, and is not waited for without end."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError

from stream_ldp.kafka import broker_watch
from stream_ldp.kafka.broker_watch import BrokerWatch
from stream_ldp.kafka.connection import AccessRefused, Answer, BrokerUnreachable
from stream_ldp.kafka.settings import Settings


class Brokers:
    """Brokers at some addresses, of which some answer.

    answering: the addresses that do.
    asked: the addresses in the order in which they were asked.
    """

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.answering = set(addresses)
        self.asked: list[str] = []
        self.frozen = False
        self.open_connections = 0
        self.clusters = dict.fromkeys(addresses, "one")

    def connection(self, address: str, settings: Settings) -> _Connection:
        return _Connection(self, address)


class _Connection:
    def __init__(self, brokers: Brokers, address: str) -> None:
        self._brokers = brokers
        self._address = address

    async def open(self) -> None:
        self._brokers.open_connections += 1

    async def ask(self) -> Answer:
        self._brokers.asked.append(self._address)
        if self._brokers.frozen:
            await asyncio.sleep(3_600)
        if self._address not in self._brokers.answering:
            raise KafkaConnectionError from ConnectionRefusedError()
        return Answer(cluster=self._brokers.clusters[self._address], brokers=self._brokers.addresses)

    async def close(self) -> None:
        self._brokers.open_connections -= 1


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    brokers = Brokers("first:9092", "second:9092")
    monkeypatch.setattr(broker_watch, "Connection", brokers.connection)
    return brokers


def watch_of(clock: Clock, **settings: Any) -> BrokerWatch:
    return BrokerWatch(Settings.load(brokers="first:9092", **settings), clock=clock)


async def test_loss_and_return_are_logged_once_each_with_address_reason_and_duration(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    watch = watch_of(clock)
    await watch.ask()
    assert (watch.connected, watch.problems()) == (True, [])
    brokers.answering.clear()
    for _ in range(3):
        clock.seconds += 1
        await watch.ask()
    assert not watch.connected
    refused = "connection refused: no broker listens on this port"
    assert watch.problems() == [
        f"no broker has answered for 3 s: first:9092: {refused}; second:9092: {refused}",
    ]
    brokers.answering.add("second:9092")
    clock.seconds += 1
    await watch.ask()
    clock.seconds += 5
    await watch.ask()
    assert watch.connected
    assert [(record.levelno, record.message) for record in caplog.records] == [
        (
            logging.ERROR,
            f"no broker answers: first:9092: {refused}; second:9092: {refused}; waiting for up to 10m (--outage)",
        ),
        (logging.WARNING, "broker second:9092 answers again, after 4 s"),
    ]


async def test_another_broker_of_the_cluster_is_asked_before_anything_is_told(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    watch = watch_of(Clock())
    await watch.ask()
    brokers.answering.remove("first:9092")
    await watch.ask()
    await watch.ask()
    assert watch.connected
    assert caplog.records == []
    assert brokers.asked == ["first:9092", "first:9092", "first:9092", "second:9092", "second:9092"]
    assert brokers.open_connections == 1, "the one that is kept"


async def test_a_frozen_broker_is_not_waited_for(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_watch, "ANSWER_SECONDS", 0.01)
    brokers.frozen = True
    watch = watch_of(Clock())
    async with asyncio.timeout(5):
        await watch.ask()
    assert not watch.connected
    assert brokers.open_connections == 0


async def test_an_outage_that_lasts_too_long_ends_the_watch_with_its_reason(brokers: Brokers) -> None:
    clock = Clock()
    watch = watch_of(clock, outage="90s")
    brokers.answering.clear()
    clock.seconds += 90
    await watch.ask()
    clock.seconds += 1
    with pytest.raises(
        BrokerUnreachable, match=r"^no broker has answered for 90s \(--outage\): first:9092: connection refused"
    ):
        await watch.run()
    assert brokers.open_connections == 0


@pytest.mark.parametrize("address", ["first:9092", "second:9092"])
async def test_a_broker_of_another_cluster_ends_the_watch(brokers: Brokers, address: str) -> None:
    watch = watch_of(Clock())
    await watch.ask()
    brokers.answering -= {"first:9092", "second:9092"} - {address}
    brokers.clusters[address] = "another"
    with pytest.raises(
        AccessRefused, match=f"broker {address} is of cluster another, and this worker .* cluster one"
    ):
        await watch.run()
    assert brokers.open_connections == 0
