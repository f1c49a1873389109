"""The servers of this package, on ports of their own, and clients that say what no library would."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from stream_ldp.gateway.limiter import Limiter
from stream_ldp.gateway.server import Door, Gateway, Source
from stream_ldp.http.hosts import Hosts
from stream_ldp.page.history import History
from stream_ldp.page.server import PageServer
from stream_ldp.service.admin import AdminServer
from stream_ldp.service.metrics import Metrics
from stream_ldp.testing import kafka_in_memory
from tests.client.examples import collection_of
from tests.listening import listening

#: Seconds after which a test fails in place of waiting forever.
PATIENCE = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A server that runs: its port, and a path that it answers with 200."""

    port: int
    path: str

    def head(self, *lines: str, method: str = "GET", path: str | None = None, host: str = "127.0.0.1") -> bytes:
        """The head of a request, after which the connection is closed."""
        first = [f"{method} {path or self.path} HTTP/1.1", *([f"Host: {host}"] if host else []), "Connection: close"]
        return "\r\n".join([*first, *lines, "", ""]).encode()

    async def ask(self, data: bytes, *, address: str = "127.0.0.1") -> bytes:
        """Send bytes from an address, and return all that is answered; nothing if the connection is cut."""
        async with self.connection(address) as (reader, writer):
            writer.write(data)
            try:
                return await reader.read()
            except ConnectionResetError:
                return b""

    @asynccontextmanager
    async def connection(
        self, address: str = "127.0.0.1"
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a connection from an address."""
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
            try:
                yield reader, writer
            finally:
                writer.transport.abort()


@asynccontextmanager
async def gateway(hosts: Hosts) -> AsyncIterator[Served]:
    collection = collection_of()
    with kafka_in_memory(collection) as kafka:
        door = Door(limiter=Limiter(rate=1_000, burst=1_000))
        served = Gateway(
            [Source(collection=collection, text="")], settings=kafka.settings, door=door, now_ms=kafka.clock
        )
        async with listening(served, hosts=hosts) as url:
            yield Served(port=int(url.rpartition(":")[2]), path="/v1/collections")


@asynccontextmanager
async def page(hosts: Hosts) -> AsyncIterator[Served]:
    server = PageServer(History({}), host="127.0.0.1", port=0, hosts=hosts)
    await server.start()
    try:
        yield Served(port=int(server.url.rstrip("/").rpartition(":")[2]), path="/")
    finally:
        await server.stop()


@asynccontextmanager
async def admin_port(hosts: Hosts) -> AsyncIterator[Served]:
    health: Any = SimpleNamespace(live=tuple, ready=tuple)
    server = AdminServer(host="127.0.0.1", port=0, health=health, metrics=Metrics(["care"]), hosts=hosts)
    await server.start()
    try:
        yield Served(port=server.port, path="/livez")
    finally:
        await server.stop()


SERVERS: list[Callable[[Hosts], Any]] = [gateway, page, admin_port]
