"""Tests that an outage is told once, with the reason, and is not waited for without end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError, SaslAuthenticationFailed

from stream_ldp.kafka import broker_watch
from stream_ldp.kafka.broker_watch import BrokerWatch
from stream_ldp.kafka.connection import AccessRefused, BrokerReply, BrokerUnreachable
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
        self.passwords: dict[str, set[str | None]] = {}
        self.clusters = dict.fromkeys(addresses, "one")

    def accept(self, *passwords: str) -> None:
        """Let all of them accept these passwords alone."""
        self.passwords = {address: set(passwords) for address in self.addresses}

    def connection(self, address: str, options: Mapping[str, Any]) -> _Connection:
        return _Connection(self, address, options.get("sasl_plain_password"))

    async def ask(self, address: str, options: Mapping[str, Any]) -> BrokerReply:
        connection = self.connection(address, options)
        await connection.open()
        try:
            return await connection.ask()
        finally:
            await connection.close()


class _Connection:
    def __init__(self, brokers: Brokers, address: str, password: str | None) -> None:
        self._brokers = brokers
        self._address = address
        self._password = password

    async def open(self) -> None:
        self._brokers.open_connections += 1
        there = self._address in self._brokers.answering
        if there and self._password not in self._brokers.passwords.get(self._address, {None}):
            raise SaslAuthenticationFailed

    async def ask(self) -> BrokerReply:
        self._brokers.asked.append(self._address)
        if self._brokers.frozen:
            await asyncio.sleep(3_600)
        if self._address not in self._brokers.answering:
            raise KafkaConnectionError from ConnectionRefusedError()
        return BrokerReply(cluster=self._brokers.clusters[self._address], brokers=self._brokers.addresses)

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
    monkeypatch.setattr(broker_watch, "ask", brokers.ask)
    return brokers


def watch_of(clock: Clock, **settings: Any) -> BrokerWatch:
    return BrokerWatch(Settings.load(brokers="first:9092", **settings), clock=clock)


async def test_loss_and_return_are_logged_once_each_with_address_reason_and_duration(
    brokers: Brokers, own_log: pytest.LogCaptureFixture
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
    assert [(record.levelno, record.message) for record in own_log.records] == [
        (
            logging.ERROR,
            f"no broker answers: first:9092: {refused}; second:9092: {refused}; waiting for up to 10m (--outage)",
        ),
        (logging.WARNING, "broker second:9092 answers again, after 4 s"),
    ]


async def test_an_endless_watch_says_rarely_that_it_goes_on_however_long_no_broker_answers(
    brokers: Brokers, own_log: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    watch = BrokerWatch(Settings.load(brokers="first:9092", outage="1m"), endless=True, clock=clock)
    brokers.answering.clear()
    for _ in range(20):
        await watch.ask()
        clock.seconds += 60
    assert watch.problems()[0].startswith("no broker has answered for 1200 s: first:9092: connection refused")
    said = [record.message for record in own_log.records]
    assert len(said) == 2, "at once, and after 10 minutes"
    assert all(
        each.startswith("no broker answers: first:9092: ") and each.endswith("; trying again") for each in said
    )


async def test_another_broker_of_the_cluster_is_asked_before_anything_is_reported(
    brokers: Brokers, own_log: pytest.LogCaptureFixture
) -> None:
    watch = watch_of(Clock())
    await watch.ask()
    brokers.answering.remove("first:9092")
    await watch.ask()
    await watch.ask()
    assert watch.connected
    assert own_log.records == []
    assert brokers.asked == ["first:9092", "first:9092", "first:9092", "second:9092", "second:9092"]
    assert brokers.open_connections == 1, "the one that is kept"


async def test_a_frozen_broker_is_not_waited_for(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_watch, "ANSWER_SECONDS", 0.01)
    brokers.frozen = True
    watch = watch_of(Clock())
    async with asyncio.timeout(30):
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
    for _ in range(2):
        await watch.ask()
    brokers.answering -= {"first:9092", "second:9092"} - {address}
    brokers.clusters[address] = "another"
    with pytest.raises(
        AccessRefused, match=f"broker {address} is of cluster another, and this process .* cluster one"
    ):
        await watch.run()
    assert brokers.open_connections == 0


async def test_an_answer_that_was_damaged_on_its_way_is_no_answer_of_another_cluster(brokers: Brokers) -> None:
    watch = watch_of(Clock())
    for damaged in ("0ne", "one", "one", "on3", "one", "oen", "eno", "one"):
        brokers.clusters = dict.fromkeys(brokers.addresses, damaged)
        await watch.ask()
    assert watch.connected


async def test_an_answer_that_makes_no_sense_is_none(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_sense(_: _Connection) -> BrokerReply:
        raise AssertionError("22784 should be less than or equal to 0 for 0")

    watch = watch_of(Clock())
    await watch.ask()
    with monkeypatch.context() as patch:
        patch.setattr(_Connection, "ask", no_sense)
        await watch.ask()
    assert not watch.connected
    await watch.ask()
    assert watch.connected


@pytest.fixture
def password(brokers: Brokers, tmp_path: Path) -> Path:
    """Return the file of a password that all brokers accept."""
    brokers.accept("old")
    file = tmp_path / "password"
    file.write_text("old")
    return file


def protected(password: Path, monkeypatch: pytest.MonkeyPatch) -> BrokerWatch:
    monkeypatch.setattr(broker_watch, "FILES_SECONDS", 0.0)
    return watch_of(Clock(), security_protocol="SASL_SSL", sasl_username="worker", sasl_password_file=password)


RESTART = (
    "the brokers refuse the password or the certificates that this process was started with, and accept those that "
    "its files have now: restart it"
)


async def test_a_changed_password_that_brokers_demand_asks_for_a_restart(
    brokers: Brokers, password: Path, own_log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = protected(password, monkeypatch)
    await watch.ask()
    password.write_text("new")
    brokers.passwords["second:9092"] = {"new"}
    for _ in range(2):
        await watch.look_at_files()
    # The connection that is there goes on working, and so does the first broker.
    await watch.ask()
    assert (watch.connected, watch.outdated) == (True, True)
    assert watch.live() == watch.problems() == [RESTART]
    assert [record.message for record in own_log.records] == [RESTART]
    assert "new" not in own_log.text
    brokers.passwords["second:9092"] = {"old", "new"}
    await watch.look_at_files()
    assert watch.live() == watch.problems() == []


async def test_nothing_is_outdated_while_brokers_accept_what_clients_have_or_nobody_has_what_they_want(
    brokers: Brokers, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = protected(password, monkeypatch)
    await watch.ask()
    password.write_text("new")
    for accepted in ({"old", "new"}, {"old"}, {"another"}):
        brokers.accept(*accepted)
        await watch.look_at_files()
        assert watch.live() == []
    brokers.accept("new")
    brokers.answering.clear()
    await watch.look_at_files()
    assert watch.live() == []
    password.unlink()
    await watch.look_at_files()
    assert watch.live() == []


async def test_an_outage_by_a_changed_password_says_what_it_is(
    brokers: Brokers, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = protected(password, monkeypatch)
    await watch.ask()
    password.write_text("new")
    brokers.accept("new")
    await watch._disconnect()
    await watch.ask()
    assert not watch.connected, "the other clients are no more connected"
    await watch.look_at_files()
    restart, away = watch.problems()
    assert restart == RESTART
    assert "authentication failed: wrong user or password for user 'worker'" in away


async def test_clients_that_were_given_the_new_password_are_not_outdated(
    brokers: Brokers, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = protected(password, monkeypatch)
    password.write_text("new")
    brokers.accept("new")
    watch.begin()
    await watch.ask()
    await watch.look_at_files()
    assert watch.connected
    assert watch.live() == []


async def test_files_are_looked_at_every_ten_seconds_whoever_asks(brokers: Brokers, tmp_path: Path) -> None:
    (password := tmp_path / "password").write_text("old")
    clock = Clock()
    given = {"security_protocol": "SASL_SSL", "sasl_username": "worker", "sasl_password_file": password}
    watch = watch_of(clock, **given)
    password.write_text("new")
    brokers.accept("new")
    clock.seconds += 9
    await watch.look_at_files()
    assert watch.live() == []
    clock.seconds += 1
    await watch.look_at_files()
    assert watch.live() == [RESTART]
