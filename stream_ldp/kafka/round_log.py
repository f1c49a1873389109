"""Read the rounds of a collection, and find a batch's round by its fingerprint."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.topics import rounds_kept_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.kind import RoundMessage, Rounds
    from stream_ldp.pipeline.layout import Layout

log = logging.getLogger(__name__)

#: Rounds to begin with: more than have windows that are open, so that a restart does not read those of the past.
NEWEST = 64


class RoundLog:
    """A round log reads a rounds topic to its end whenever an unknown round is wanted.

    A client reports to a round only after reading it there, so a worker that finds a report on the reports topic and
    then reads this log to its end finds the round: however often reports are read, the same ones have a round. It
    begins with the newest rounds, and reads the others once, when one that is wanted is not among them.

    Many may ask at once. A read takes up to half a second, since the broker answers after the fetch that waits for
    records. If each request had its own read, twenty strangers would keep all other clients of a gateway waiting.
    """

    def __init__(
        self,
        collection: Collection,
        rounds: Rounds[Any, Any, Any],
        *,
        topic: str,
        settings: Settings,
        pass_over: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare for one collection.

        rounds: how the collection's kind makes and reads rounds.
        pass_over: called for each record that is no round of the collection.
        """
        self._collection = collection
        self._asking = rounds
        self._pass_over = pass_over
        self._kept_ms = rounds_kept_ms(collection.window)
        self._reader = LogReader(topic, settings=settings)
        self._whole = False
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None
        # The time at which each was written, and the round; the last that was written comes last.
        self._rounds: dict[bytes, tuple[int, RoundMessage]] = {}

    async def start(self) -> None:
        """Connect; may be called again after a failure.

        Raises:
            KafkaError: the brokers cannot be used.
        """
        await self._reader.start()
        try:
            end = await self._reader.end()
            self._whole = end <= NEWEST
            if not self._whole:
                await self._reader.seek(end - NEWEST)
        except BaseException:
            await self._reader.stop()
            raise

    async def stop(self) -> None:
        """Disconnect."""
        if self._next is not None:
            self._next.cancel()
        await self._reader.stop()

    async def find(self, fingerprints: Iterable[bytes]) -> list[RoundMessage]:
        """Find the rounds with these fingerprints; a fingerprint may have none.

        Raises:
            KafkaError: the brokers cannot be asked.
        """
        wanted = list(fingerprints)
        if any(fingerprint not in self._rounds for fingerprint in wanted):
            await self._read_on()
        if any(fingerprint not in self._rounds for fingerprint in wanted):
            await self._read_whole()
        return [self._rounds[fingerprint][1] for fingerprint in wanted if fingerprint in self._rounds]

    async def layouts(self, fingerprints: Iterable[bytes]) -> list[Layout]:
        """Return the layouts of the batches with these fingerprints, for those that have a round; see `find`."""
        return [self._asking.layout(self._collection, asked) for asked in await self.find(fingerprints)]

    async def since(self, time_ms: int) -> list[RoundMessage]:
        """Return the rounds that were written at a time or after it, in milliseconds since 1970-01-01 UTC.

        Raises:
            KafkaError: the brokers cannot be asked.
        """
        await self._read_whole()
        await self._read_on()
        return [asked for written_ms, asked in self._rounds.values() if written_ms >= time_ms]

    async def _read_on(self) -> None:
        """Read to the end as it is now, or later; all who come before that read begins share it."""
        if self._next is None:
            self._next = asyncio.create_task(self._take_turn())
            # Those who asked may all have given up by then.
            self._next.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(self._next)

    async def _take_turn(self) -> None:
        async with self._turn:
            # What is written from now on may be behind the end that this read goes to.
            self._next = None
            await self._catch_up()

    async def _read_whole(self) -> None:
        """Read the rounds before the newest, too, unless they have been read."""
        if self._whole:
            return
        async with self._turn:
            if self._whole:  # Another who asked has read them meanwhile.
                return
            self._rounds.clear()
            await self._reader.seek(0)
            await self._catch_up()
            self._whole = True

    async def _catch_up(self) -> None:
        number, last = 0, ""
        async for record in self._reader.read_to_end():
            try:
                asked = self._asking.read(self._collection, record.value or b"")
            except ValueError as error:
                number, last = number + 1, f"{record.topic} offset {record.offset}: {error}"
                self._pass_over()
                continue
            self._rounds.pop(asked.fingerprint, None)
            self._rounds[asked.fingerprint] = record.timestamp, asked
            self._forget(before_ms=record.timestamp - self._kept_ms)
        if number:
            log.warning("records that are no rounds of ours are passed over: %d, the last %s", number, last)

    def _forget(self, *, before_ms: int) -> None:
        """Forget the rounds that a worker that starts now would not find either."""
        for fingerprint, (written_ms, _) in list(self._rounds.items()):
            if written_ms >= before_ms:
                return
            del self._rounds[fingerprint]
