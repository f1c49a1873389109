"""Tests that a sender closes what it opens, whatever fails."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from stream_ldp.client.sender import Sender, now_ms
from stream_ldp.kafka.settings import Settings
from tests.client.examples import collection_of

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
