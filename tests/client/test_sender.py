"""Tests that a sender closes what it opens, whatever fails, and says what it does not count."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from stream_ldp import Reporter
from stream_ldp.client.sender import Sender, now_ms
from stream_ldp.kafka.settings import Settings
from stream_ldp.mechanisms import OSEntropy
from tests.client.examples import collection_of
from tests.client.items import films
from tests.client.reports import reporter, users

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from tests.client.fakes import FakeBroker


def sender(other: AbstractAsyncContextManager[None]) -> Sender:
    return Sender(
        collection_of(),
        settings=Settings.load(brokers="nowhere:1"),
        entropy=None,
        clock=now_ms,
        max_in_flight=1,
        delivery_timeout=1.0,
        also=[other],
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("survey.yaml", "Reporter: give a collection, as load_collection .*, not a str"),
        ({"bathing": "no"}, "Reporter: give a collection, as load_collection .*, not a dict"),
    ],
)
def test_a_reporter_says_what_it_takes_in_place_of_a_path_or_a_record(given: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        Reporter(given, settings=Settings())


def test_a_reporter_to_rounds_needs_a_ledger() -> None:
    with pytest.raises(ValueError, match=r"films asks in rounds, and only a ledger remembers"):
        Reporter(films(), settings=Settings(), secret=bytes(32))


async def test_if_another_connection_cannot_be_opened_the_producer_is_closed(broker: FakeBroker) -> None:
    @asynccontextmanager
    async def closed() -> AsyncIterator[None]:
        raise ConnectionError
        yield

    with pytest.raises(ConnectionError):
        await sender(closed()).__aenter__()
    assert broker.stopped == ["producer"]


async def test_if_another_connection_fails_as_it_closes_the_producer_is_closed_too(broker: FakeBroker) -> None:
    @asynccontextmanager
    async def brittle() -> AsyncIterator[None]:
        yield
        assert broker.stopped == [], "what was opened last is closed first"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        async with sender(brittle()):
            pass
    assert broker.stopped == ["producer"]


async def test_untracked_budgets_are_warned_about_once_unless_users_are_simulated(
    broker: FakeBroker, own_log: pytest.LogCaptureFixture
) -> None:
    async with reporter() as sender:
        for _ in range(3):
            await sender.report_many(users(2), secrets=None)
    assert [record.levelname for record in own_log.records] == ["WARNING"]
    assert "privacy budgets are not tracked" in own_log.text
    own_log.clear()
    async with reporter(entropy=OSEntropy()) as sender:
        await sender.report_many(users(2), secrets=None)
    assert own_log.text == ""
