"""Let producers share the connections of one client.

A producer of aiokafka has a client of its own, with two connections to each broker that it writes to and a third to
one that coordinates its transactions. A fence is a matter of ids and epochs, which every request names: so as many
fenced producers as a worker has collections need the connections of one.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.client import AIOKafkaClient


class SharedClient:
    """A client that producers share as long as one of them uses it; the next one brings another."""

    def __init__(self) -> None:
        self._common: _Common | None = None

    def lend(self, producer: AIOKafkaProducer) -> None:
        """Let a producer that has not been started use the client of the others, or the others its own."""
        if self._common is None:
            self._common = _Common(producer.client)
        common = self._common
        common.users += 1
        producer.client = producer._sender.client = _Lent(common, self._give_back)
        producer._metadata = producer._message_accumulator._cluster = common.client.cluster

    async def _give_back(self, common: _Common) -> None:
        common.users -= 1
        if not common.users:
            # Before anything is awaited: a caller that comes now must not get a client that is being closed.
            if self._common is common:
                self._common = None
            await common.client.close()


class _Common:
    """A client with several users."""

    def __init__(self, client: AIOKafkaClient) -> None:
        self.client = client
        self.users = 0
        self.connecting = asyncio.Lock()
        self.connected = False


class _Lent:
    """A shared client as one of its users has it, who neither connects it again nor closes it under the others."""

    def __init__(self, common: _Common, give_back: Any) -> None:
        self._common = common
        self._give_back = give_back
        self._given_back = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._common.client, name)

    async def bootstrap(self) -> None:
        """Connect, unless another user has.

        Raises:
            KafkaError: no broker can be reached.
        """
        async with self._common.connecting:
            if not self._common.connected:
                await self._common.client.bootstrap()
                self._common.connected = True

    async def close(self) -> None:
        """Use it no more; may be called twice."""
        if not self._given_back:
            self._given_back = True
            await self._give_back(self._common)
