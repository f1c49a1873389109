"""Read several logs as one, in the order in which their records come."""

import asyncio
from collections.abc import Sequence
from typing import Any

from stream_ldp.kafka.log import LogReader


class JoinedLogs:
    """Joined logs have the records of several logs; where more than one has some, the first log comes first."""

    def __init__(self, readers: Sequence[LogReader], *, follow: bool) -> None:
        """Prepare to read some logs; none is open yet.

        follow: wait for more at their end; otherwise, stop where they ended when they were opened.
        """
        self._readers = tuple(readers)
        self._follow = follow
        self._ends: list[int] = []
        # The wait for the next record of each log; a caller that is cancelled leaves it to the next one.
        self._coming: dict[LogReader, asyncio.Task[Any]] = {}

    async def start(self) -> None:
        """Connect, and find the places to begin.

        Raises:
            KafkaError: the brokers cannot be used.
        """
        try:
            for reader in self._readers:
                await reader.start()
            if not self._follow:
                self._ends = [await reader.end() for reader in self._readers]
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Disconnect; may be called twice, or without a start."""
        for task in self._coming.values():
            task.cancel()
        for reader in self._readers:
            await reader.stop()

    async def next(self, *, seconds: float | None = None) -> Any:
        """Return the next record, or None after so many seconds, or at the end of logs that are not followed."""
        if not self._follow:
            for reader, end in zip(self._readers, self._ends, strict=True):
                if (record := await reader.next_before(end)) is not None:
                    return record
            return None
        for reader in self._readers:
            if reader not in self._coming:
                self._coming[reader] = asyncio.create_task(reader.next())
        await asyncio.wait(self._coming.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        first = next((reader for reader in self._readers if self._coming[reader].done()), None)
        return None if first is None else self._coming.pop(first).result()

    async def commit(self, offset: int) -> None:
        """Let the group, which reads one log, go on at this offset."""
        (reader,) = self._readers
        await reader.commit(offset)
