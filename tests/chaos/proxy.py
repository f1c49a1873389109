"""This module has a TCP proxy that delays, cuts and half-closes the connections of workers to their broker."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Proxy", "reset"]


class Proxy:
    """A proxy from one port of the loopback address to another.

    delay: seconds that every piece of data takes longer, in each direction.
    refusing: whether new connections are closed at once.
    """

    def __init__(self, port: int, *, to: int) -> None:
        """Prepare for a port to listen on, and one to connect to."""
        self.delay = 0.0
        self.refusing = False
        self._port, self._to = port, to
        self._server: asyncio.Server | None = None
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._silent: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.refusing = True
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to it, as a client does."""
        return await asyncio.open_connection("127.0.0.1", self._port)

    def cut(self) -> None:
        """Reset every connection, in both directions."""
        for pair in self._pairs:
            for writer in pair:
                reset(writer)

    def half_close(self) -> None:
        """End the broker's side of every connection: clients read its end, and may still write."""
        for to_client, _ in self._pairs:
            with contextlib.suppress(OSError, RuntimeError):
                to_client.write_eof()

    def silence(self) -> None:
        """Carry nothing more on any connection, not even its end, as a firewall that forgets them does."""
        self._silent.update(writer for pair in self._pairs for writer in pair)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            if self.refusing:
                return
            broker, to_broker = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            return
        else:
            pair = to_client, to_broker
            self._pairs.add(pair)
            try:
                ways = [
                    asyncio.create_task(self._carry(client, to_broker)),
                    asyncio.create_task(self._carry(broker, to_client)),
                ]
                try:
                    await asyncio.wait(ways)
                finally:
                    for way in ways:
                        way.cancel()
            finally:
                self._pairs.discard(pair)
                self._silent.difference_update(pair)
                to_broker.close()
        finally:
            to_client.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(BrokenPipeError, RuntimeError):
                while data := await reader.read(2**16):
                    await asyncio.sleep(self.delay)
                    if writer not in self._silent:
                        writer.write(data)
                        await writer.drain()
                if writer not in self._silent:
                    writer.write_eof()
        except OSError:
            if writer in self._silent:
                return
            # As a network does. The other side would otherwise wait for its answers for as long as it ever waits.
            reset(writer)


def reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection so that its other side reads an error, and not its end."""
    # Without a linger of no seconds, the close would be in good order.
    with contextlib.suppress(OSError):
        socket_ = writer.get_extra_info("socket")
        socket_.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
