"""Tests that a sender closes what it opens, whatever fails, and says what it does not count."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from stream_ldp.client.sender import Sender, now_ms
from stream_ldp.kafka.settings import Settings
from stream_ldp.mechanisms import OSEntropy
from tests.client.examples import collection_of
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


async def test_what_many_users_spend_uncounted_is_warned_about_once_unless_they_are_simulated(
    broker: FakeBroker, caplog: pytest.LogCaptureFixture
) -> None:
    async with reporter() as sender:
        for _ in range(3):
            await sender.report_many(users(2), secrets=None)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "what these users spend is not counted here" in caplog.text
    caplog.clear()
    async with reporter(entropy=OSEntropy()) as sender:
        await sender.report_many(users(2), secrets=None)
    assert caplog.text == ""
