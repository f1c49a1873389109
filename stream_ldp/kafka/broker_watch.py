"""Watch whether a broker answers, and say at once when none does any more and when one does again.

All parts of a worker retry by themselves for as long as the setting `outage` says, each at its own pace and with its
own errors. Those of a gateway and a page retry without end, and say nothing. The watch is what alerts people: it asks
on a connection of its own, every second.

It connects with what the other clients were given at their start. They do not read their files again. So when a
password or an authority has changed, the watch is refused as they are. It then tries what the files hold by now: if
that is accepted, a restart helps, and nothing else does.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from stream_ldp.kafka.connection import (
    UNREACHABLE,
    AccessRefused,
    BrokerReply,
    BrokerUnreachable,
    Connection,
    ask,
    explain,
    passes_by_itself,
)
from stream_ldp.kafka.settings import Settings

log = logging.getLogger(__name__)

#: Seconds between two questions.
ASK_SECONDS = 1.0
#: Seconds between two looks at whether the files have changed since clients read them.
FILES_SECONDS = 10.0
#: Seconds after which it is said again that no broker answers.
SAY_SECONDS = 600.0
#: Seconds to wait for an answer, longer than a busy broker needs; twice as many until a frozen one is reported.
ANSWER_SECONDS = 2.0


class BrokerWatch:
    """A watch over the brokers of one cluster.

    connected: whether a broker answered when it was last asked; True before that, since nobody has been refused.
    outdated: whether a broker refuses what the clients were given, and accepts what the files hold now.
    """

    def __init__(
        self, settings: Settings, *, endless: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare for one cluster.

        endless: whether to wait for the brokers however long an outage lasts.
        clock: monotonic time, in seconds.
        """
        self.connected = True
        self.outdated = False
        self._settings = settings
        self._outage_seconds = math.inf if endless else settings.outage_seconds
        self._patience = "trying again" if endless else f"waiting for up to {settings.outage} (--outage)"
        self._clock = clock
        self._addresses = settings.broker_addresses
        self._connection: Connection | None = None
        # The id of the cluster, and the one in the last answer.
        self._cluster: str | None = None
        self._heard: str | None = None
        self._answered_at = clock()
        self._said_at = -math.inf
        self._why = ""
        self._looked_at = clock()
        self.begin()

    def begin(self) -> None:
        """Take what the files hold now for what clients are given.

        Raises:
            OSError, SettingsError: a file cannot be used.
        """
        self._files, self._given = self._settings.credentials(), self._settings.connection_options()

    def live(self) -> list[str]:
        """Say why the process should be restarted; empty if a restart would not help."""
        if not self.outdated:
            return []
        return [
            "the brokers refuse the password or the certificates that this process was started with, and accept "
            "those that its files have now: restart it"
        ]

    def problems(self) -> list[str]:
        """Say that no broker answers, since when and why, and whether a restart would help; empty if one answers."""
        if self.connected:
            return self.live()
        return [*self.live(), f"no broker has answered for {self._clock() - self._answered_at:.0f} s: {self._why}"]

    async def run(self) -> None:
        """Watch until an outage lasts too long.

        Raises:
            AccessRefused: a broker of another cluster has answered.
            BrokerUnreachable: no broker has answered for as long as the setting `outage` says, unless it is endless.
        """
        try:
            while True:
                await self.ask()
                await self.look_at_files()
                await asyncio.sleep(ASK_SECONDS)
        finally:
            await self._disconnect()

    async def ask(self) -> None:
        """Ask once, of all brokers the one that answered last first.

        Raises:
            BrokerUnreachable: see `run`.
        """
        if self._connection is not None and await self._ask(self._addresses[0]) is None:
            return
        # What ended a connection says less than why there is no new one.
        problems = []
        for address in list(self._addresses):
            why = await self._ask(address)
            if why is None:
                return
            problems.append(f"{address}: {why}")
        self._lost("; ".join(problems))

    async def look_at_files(self) -> None:
        """Find out whether the files have changed, and a broker accepts what they hold now and not what they held.

        Nothing is done within FILES_SECONDS of the last time.
        """
        if self._clock() < self._looked_at + FILES_SECONDS:
            return
        self._looked_at = self._clock()
        try:
            if await asyncio.to_thread(self._settings.credentials) == self._files:
                self.outdated = False
                return
            options = await asyncio.to_thread(self._settings.connection_options)
        except (OSError, ValueError):
            return  # Somebody is about to replace them.
        before, found = self.outdated, [_is_outdated(address, self._given, options) for address in self._addresses]
        self.outdated = any(await asyncio.gather(*found))
        if self.outdated and not before:
            log.error("%s", *self.live())

    async def _ask(self, address: str) -> str | None:
        """Ask one broker, and return why it does not answer; None if it does."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if self._connection is None:
                    self._connection = Connection(address, self._given)
                    await self._connection.open()
                answer = await self._connection.ask()
        except UNREACHABLE as error:
            await self._disconnect()
            return explain(error, self._settings, ANSWER_SECONDS)
        self._answered(address, answer)
        return None

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _answered(self, address: str, answer: BrokerReply) -> None:
        now = self._clock()
        # Only what has come twice: no checksum covers an answer, which may have been damaged on its way.
        cluster = answer.cluster if answer.cluster == self._heard else None
        self._heard = answer.cluster
        # An address that was out of reach at the start may be that of another cluster.
        if cluster is not None and self._cluster not in (None, cluster):
            raise AccessRefused(
                f"broker {address} is of cluster {cluster}, and this process works on cluster {self._cluster}: "
                "name the brokers of one cluster (--brokers), and start it again"
            )
        self._cluster = cluster or self._cluster
        if not self.connected:
            self.connected = True
            log.warning("broker %s answers again, after %.0f s", address, now - self._answered_at)
        self._answered_at = now
        self._addresses = list(dict.fromkeys([address, *self._settings.broker_addresses, *answer.brokers]))

    def _lost(self, why: str) -> None:
        now = self._clock()
        self._why = why
        if self.connected or now >= self._said_at + SAY_SECONDS:
            self.connected, self._said_at = False, now
            log.error("no broker answers: %s; %s", why, self._patience)
        if now - self._answered_at > self._outage_seconds:
            raise BrokerUnreachable(f"no broker has answered for {self._settings.outage} (--outage): {why}")


async def _is_outdated(address: str, given: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Decide whether a broker refuses what clients were given, and accepts what they would be given now."""
    # Connections that were made before are no proof: a broker closes none because of a change.
    return await _refuses(address, given) and not await _refuses(address, now)


async def _refuses(address: str, options: Mapping[str, Any]) -> bool:
    """Decide whether a broker is there and lets nobody in who has these options."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await ask(address, options)
    except UNREACHABLE as error:
        return not passes_by_itself(error)
    return False
