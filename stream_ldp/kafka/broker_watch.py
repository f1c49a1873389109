"""This module watches whether a broker answers, and says at once when none does any more and when one does again.

All parts of a worker retry by themselves for as long as the setting `outage` says, each at its own pace and with its
own errors. The watch is what tells people: it asks on a connection of its own, every second.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from stream_ldp.kafka.connection import UNREACHABLE, BrokerUnreachable, Connection, explain

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.kafka.settings import Settings

__all__ = ["BrokerWatch"]

log = logging.getLogger(__name__)

#: Seconds between two questions.
ASK_SECONDS = 1.0
#: Seconds to wait for an answer: as long as an election takes, and longer than a busy broker needs.
ANSWER_SECONDS = 3.0


class BrokerWatch:
    """A watch over the brokers of one cluster.

    connected: whether a broker answered when it was last asked; True before that, since nobody has been refused.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Prepare for one cluster.

        clock: monotonic time, in seconds.
        """
        self.connected = True
        self._settings = settings
        self._clock = clock
        self._addresses = settings.broker_addresses
        self._connection: Connection | None = None
        self._answered_at = clock()
        self._why = ""

    def problems(self) -> list[str]:
        """Say that no broker answers, since when and why; empty if one does."""
        if self.connected:
            return []
        return [f"no broker has answered for {self._clock() - self._answered_at:.0f} s: {self._why}"]

    async def run(self) -> None:
        """Watch until an outage lasts too long.

        Raises:
            BrokerUnreachable: no broker has answered for as long as the setting `outage` says.
        """
        try:
            while True:
                await self.ask()
                await asyncio.sleep(ASK_SECONDS)
        finally:
            await self._disconnect()

    async def ask(self) -> None:
        """Ask once, of all brokers the one that answered last first.

        Raises:
            BrokerUnreachable: see `run`.
        """
        problems = []
        for address in list(self._addresses):
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    brokers = await self._brokers(address)
            except UNREACHABLE as error:
                problems.append(f"{address}: {explain(error, self._settings, ANSWER_SECONDS)}")
                await self._disconnect()
            else:
                self._answered(address, brokers)
                return
        self._lost("; ".join(problems))

    async def _brokers(self, address: str) -> list[str]:
        if self._connection is None:
            self._connection = Connection(address, self._settings)
            await self._connection.open()
        return await self._connection.brokers()

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _answered(self, address: str, brokers: list[str]) -> None:
        now = self._clock()
        if not self.connected:
            self.connected = True
            log.warning("broker %s answers again, after %.0f s", address, now - self._answered_at)
        self._answered_at = now
        self._addresses = list(dict.fromkeys([address, *self._settings.broker_addresses, *brokers]))

    def _lost(self, why: str) -> None:
        now, outage = self._clock(), self._settings.outage_seconds
        self._why = why
        if self.connected:
            self.connected = False
            log.error("no broker answers: %s; waiting for up to %s (--outage)", why, self._settings.outage)
        if now - self._answered_at > outage:
            raise BrokerUnreachable(f"no broker has answered for {self._settings.outage} (--outage): {why}")
