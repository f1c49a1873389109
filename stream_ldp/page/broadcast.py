"""Hand the same events to every reader of the page, and let go of readers that do not keep up."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from stream_ldp.errors import StreamLDPError

#: Events that may wait for one reader. Behind by more, it is cheaper for it to connect again and get a snapshot.
WAITING = 256


class TooSlow(StreamLDPError, RuntimeError):
    """A reader is so far behind that events for it were dropped; it has to begin again."""


class Reader:
    """A reader holds the events that wait for one browser."""

    def __init__(self, *, waiting: int) -> None:
        """Start without events.

        waiting: number of events that may wait.
        """
        self._waiting = waiting
        self._events: deque[bytes] = deque()
        self._change = asyncio.Event()
        self._lost = self._ended = False

    def offer(self, event: bytes) -> None:
        """Add an event, or note that there is no room for it."""
        if len(self._events) < self._waiting:
            self._events.append(event)
        else:
            self._lost = True
        self._change.set()

    def end(self) -> None:
        """Let the iteration end."""
        self._ended = True
        self._change.set()

    async def events(self, *, pause: float) -> AsyncIterator[bytes | None]:
        """Yield the events in order, and None after each so many seconds without one.

        Raises:
            TooSlow: an event was dropped.
        """
        while not self._ended:
            if self._lost:
                raise TooSlow
            if self._events:
                yield self._events.popleft()
                continue
            self._change.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._change.wait()
            except TimeoutError:
                yield None


class Broadcast:
    """A broadcast has any number of readers; each gets the events that come while it listens."""

    def __init__(self, *, waiting: int = WAITING) -> None:
        """Start without readers.

        waiting: number of events that may wait for one of them.
        """
        self._waiting = waiting
        self._readers: set[Reader] = set()

    @property
    def readers(self) -> int:
        """Number of readers that listen."""
        return len(self._readers)

    def send(self, event: bytes) -> None:
        """Offer an event to all readers."""
        for reader in self._readers:
            reader.offer(event)

    def end(self) -> None:
        """Let go of all readers."""
        for reader in self._readers:
            reader.end()

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Listen within the block."""
        reader = Reader(waiting=self._waiting)
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.remove(reader)
