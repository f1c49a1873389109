"""A TCP proxy before a broker that delays, damages, loses, cuts and half-closes what it carries."""

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import AsyncIterator
from enum import StrEnum
from types import TracebackType
from typing import Self

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.embedded.process import free_ports

#: Share of the pieces of data that are damaged while damage is done: some a second, so that there is also progress.
SHARE = 0.03

#: Fewest bytes of a piece whose bytes change places: in fewer, both could be alike.
_LEAST = 64

_PRODUCE = 0


class Damage(StrEnum):
    """Something that is done to a piece of data on its way."""

    LOSE = "lose"
    """It vanishes, and what follows takes its place."""
    SWAP = "swap"
    """From a place of it on, bytes come in another order. Only what brokers answer suffers: what they are sent has no
    checksum but that of records, and nobody could find a commit that another offset has got into."""
    CUT = "cut"
    """The connection ends in the middle of it."""


class ProxiedKafka(EmbeddedKafka):
    """A broker with a second listener, which clients reach through a proxy."""

    def __init__(self) -> None:
        super().__init__()
        self.inner_port, self.proxy_port = free_ports(2)

    def properties(self) -> dict[str, str]:
        own = super().properties()
        return own | {
            "listeners": f"{own['listeners']},PROXIED://127.0.0.1:{self.inner_port}",
            "advertised.listeners": f"{own['advertised.listeners']},PROXIED://127.0.0.1:{self.proxy_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }


class Proxy:
    """A proxy from one port of the loopback address to another.

    delay: seconds that every piece of data takes longer, in each direction.
    refusing: whether new connections are closed at once.
    damage: what is done to some pieces of data; None for nothing.
    chance: decides which pieces, and where.
    damaged: number of pieces that have been damaged.
    lost: number of answers to writes that have been lost.
    """

    def __init__(self, port: int, *, to: int, losses: int = 0) -> None:
        """Prepare for a port to listen on, and one to connect to.

        losses: of the first writes to a broker so many get the end of the connection in place of an answer, so that
            clients write again what is stored.
        """
        self.delay = 0.0
        self.refusing = False
        self.damage: Damage | None = None
        self.chance = random.Random(0)
        self.damaged = 0
        self.lost = 0
        self._port, self._to, self._losses = port, to, losses
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

    def heal(self) -> None:
        """Be a sound network from now on."""
        self.delay, self.refusing, self.damage = 0.0, False, None

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
            writes: set[int] = set()
            self._pairs.add(pair)
            try:
                ways = [
                    asyncio.create_task(self._carry(self._requests(client, writes), pair, to=to_broker)),
                    asyncio.create_task(self._carry(self._answers(broker, writes), pair, to=to_client)),
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

    async def _requests(self, reader: asyncio.StreamReader, writes: set[int]) -> AsyncIterator[bytes]:
        async for piece in self._pieces(reader):
            if self._losses:
                api, _, correlation = struct.unpack_from(">hhi", piece, 4)
                if api == _PRODUCE:
                    writes.add(correlation)
            yield piece

    async def _answers(self, reader: asyncio.StreamReader, writes: set[int]) -> AsyncIterator[bytes]:
        async for piece in self._pieces(reader):
            if self.lost < self._losses and struct.unpack_from(">i", piece, 4)[0] in writes:
                self.lost += 1
                return
            yield piece

    async def _pieces(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """Read what comes, in whole frames where answers are to be told apart."""
        if self._losses:
            with contextlib.suppress(asyncio.IncompleteReadError):
                while True:
                    size = await reader.readexactly(4)
                    yield size + await reader.readexactly(int.from_bytes(size, "big"))
        else:
            while data := await reader.read(2**16):
                yield data

    async def _carry(
        self,
        pieces: AsyncIterator[bytes],
        pair: tuple[asyncio.StreamWriter, asyncio.StreamWriter],
        *,
        to: asyncio.StreamWriter,
    ) -> None:
        try:
            with contextlib.suppress(BrokenPipeError, RuntimeError):
                async for piece in pieces:
                    await asyncio.sleep(self.delay)
                    if to in self._silent:
                        continue
                    damage = self.damage if self.damage and self.chance.random() < SHARE else None
                    if damage is Damage.LOSE:
                        self.damaged += 1
                        continue
                    carried = piece
                    if damage is Damage.SWAP and to is pair[0] and len(piece) >= _LEAST:
                        self.damaged += 1
                        carried = swapped(piece, chance=self.chance)
                    if damage is Damage.CUT:
                        self.damaged += 1
                        carried = piece[: self.chance.randrange(len(piece))]
                    to.write(carried)
                    await to.drain()
                    if damage is Damage.CUT:
                        for writer in pair:
                            reset(writer)
                if to not in self._silent:
                    to.write_eof()
        except OSError:
            if to in self._silent:
                return
            # As a network does. The other side would otherwise wait for its answers for as long as it ever waits.
            reset(to)


def swapped(piece: bytes, *, chance: random.Random) -> bytes:
    """Let two parts of a piece change places, from a random place up to its end, so that all behind it is moved."""
    place = chance.randrange(len(piece) - _LEAST // 2)
    rest = piece[place:]
    middle = chance.randrange(1, len(rest) // 2 + 1)
    return piece[:place] + rest[middle:] + rest[:middle]


def reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection so that its other side reads an error, and not its end."""
    # Without a linger of no seconds, the close would be in good order.
    with contextlib.suppress(OSError):
        socket_ = writer.get_extra_info("socket")
        socket_.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
