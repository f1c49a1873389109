"""Open a port for an application, and bound what strangers can take of it.

aiohttp alone inflates bodies before anybody looks at them, and keeps silent connections for an hour. It waits without
end for a client that does not read, and takes as many connections as there are descriptors.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import web

from stream_ldp.errors import StreamLDPError
from stream_ldp.http.incidents import Incident, IncidentLog
from stream_ldp.http.network import network_of
from stream_ldp.http.proxies import Proxies
from stream_ldp.http.quota import Quota
from stream_ldp.http.refusal import Refused

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Coroutine

    from stream_ldp.http.hosts import Hosts

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logging.getLogger(__name__)

#: Seconds until a connection without a whole head of a request is closed, whether it is new or had a request before.
#: Proxies close theirs after 60 by default; a server that was faster would close some under a request.
IDLE_SECONDS = 75.0

#: Seconds that a client may take to read an answer, and that TLS may take to begin and to end.
WRITE_SECONDS, HANDSHAKE_SECONDS = 30.0, 10.0

#: Bytes of an answer that waits for no client: event loops take twice as many before they ask anyone to wait.
AT_ONCE_BYTES = 2**15

#: Seconds that a client may go on sending what nobody reads. Cut at once, it would not see why it is refused.
LINGER_SECONDS = 2.0

#: Connections at once: with TLS, each has 0.3 MB. At most half of the descriptors are for them, since without one the
#: process could neither accept any nor reach its brokers. A client may have a quarter, as connections or as requests
#: that a trusted proxy passes on; the proxy may have all but a quarter, which is left for probes and other callers.
MAX_CONNECTIONS, DESCRIPTORS_PART, SHARES = 1_024, 2, 4

#: Seconds until connections are accepted again after that has failed, for want of descriptors or memory.
ACCEPT_SECONDS = 1.0

#: Connections that the system holds until they are accepted.
BACKLOG = 128


class PortError(StreamLDPError, RuntimeError):
    """A port cannot be opened; the message says why, and how to choose another one."""


class Port:
    """A port serves one application, on the caller's event loop."""

    def __init__(
        self,
        application: web.Application,
        *,
        host: str,
        port: int,
        hosts: Hosts,
        proxies: Proxies = Proxies(),  # noqa: B008  it is immutable
        option: str = "--port",
        tls: ssl.SSLContext | None = None,
        stop_seconds: float = 1.0,
        count: Callable[[Incident], None] = lambda _: None,
    ) -> None:
        """Prepare for one address.

        port: port to open; 0 for any free one.
        hosts: names by which the server may be called.
        proxies: whom it believes for whom they ask; a request's `remote` is then their client's address.
        option: what chooses another port.
        stop_seconds: how long a stop waits for requests under way.
        count: called for each incident.
        """
        self.application = application
        self._host = host
        self._port = port
        self._hosts = hosts
        self._proxies = proxies
        self._option = option
        self._tls = tls
        self._count = count
        most = _most_connections()
        self._connections, self._forwarded = (Quota(most=most, share=max(1, most // SHARES)) for _ in range(2))
        # By descriptor: connections without a request under way, the longest so first.
        self._idle: dict[int, _Connection] = {}
        self._listeners: list[socket.socket] = []
        self._accepting: set[asyncio.Task[None]] = set()
        # What the application itself does with a request and with a refusal is between the two.
        application.middlewares[:0] = [self._answer, self._find_client]
        application.middlewares.append(self._check)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            logger=IncidentLog(count),
            auto_decompress=False,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGER_SECONDS,
            shutdown_timeout=stop_seconds,
        )

    @property
    def address(self) -> tuple[str, int]:
        """The address and the port that are open; known once started."""
        host, port = self._listeners[0].getsockname()[:2]
        return host, port

    async def start(self) -> None:
        """Start the application, and open the port.

        Raises:
            PortError: the port cannot be opened.
        """
        await self._runner.setup()
        try:
            await self._listen()
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be opened: {error.strerror or error}"
            raise PortError(
                f"the port {self._host}:{self._port} {why}; choose another one with {self._option} "
                "(0 for any free one)"
            ) from error
        for listener in self._listeners:
            self._begin(self._accept(listener))

    async def _listen(self) -> None:
        found = await asyncio.get_running_loop().getaddrinfo(
            self._host or None, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, address in dict.fromkeys((each[0], each[4]) for each in found):
            listener = socket.create_server(address, family=family, backlog=BACKLOG)
            self._listeners.append(listener)
            listener.setblocking(False)
            if sys.platform == "linux":
                # The system closes what neither reads nor acknowledges, also where this process already has.
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1_000 * WRITE_SECONDS))

    async def stop(self) -> None:
        """Close the port, and let what is under way end."""
        accepting = list(self._accepting)
        for task in accepting:
            task.cancel()
        await asyncio.gather(*accepting, return_exceptions=True)
        for listener in self._listeners:
            listener.close()
        await self._runner.cleanup()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)

    async def _accept(self, listener: socket.socket) -> None:
        """Accept connections until cancelled, and close at once those that are too many."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listener)
            except ConnectionAbortedError:
                continue  # A client has gone before its turn.
            except OSError as error:
                # Without a pause, it would fail as fast as the loop turns until something else is closed.
                log.warning("no connection can be accepted: %s", error.strerror)
                await asyncio.sleep(ACCEPT_SECONDS)
                continue
            network = network_of(address[0])
            shares = SHARES - 1 if self._proxies.trust(address[0]) else 1
            take = partial(self._connections.take, network, shares=shares)
            if take() or (self._make_room(network, shares) and take()):
                connection = _Connection(accepted, quota=self._connections, network=network)
                self._idle[connection.fileno()] = connection
                self._begin(self._serve(connection))
            else:
                self._count(Incident.TOO_MANY_CONNECTIONS)
                accepted.close()
            # While others knock, accepting does not wait, and would keep the loop from all else.
            await asyncio.sleep(0)

    def _make_room(self, network: str, shares: int) -> bool:
        """Close the connection that has been without a request for longest, of a client that has its share.

        Else connections that say nothing would keep a port shut for as long as they may stay.
        """
        full = self._connections.share_is_taken(network, shares=shares)
        for number, each in list(self._idle.items()):
            if each.given_back:
                del self._idle[number]
            elif not full or each.network == network:
                del self._idle[number]
                each.end()
                self._count(Incident.TOO_MANY_CONNECTIONS)
                return True
        return False

    async def _serve(self, connection: _Connection) -> None:
        """Hand a connection to aiohttp, after the handshake if there is one."""
        server = self._runner.server
        assert server is not None  # noqa: S101  it is there as long as connections are accepted
        limits = dict.fromkeys(("ssl_handshake_timeout", "ssl_shutdown_timeout"), HANDSHAKE_SECONDS)
        with suppress(OSError):  # It speaks no TLS, or has gone; asyncio closes it.
            await asyncio.get_running_loop().connect_accepted_socket(
                server, connection, ssl=self._tls, **({} if self._tls is None else limits)
            )

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Write the answer in time."""
        number = _number(request)
        connection = self._idle.pop(number, None)
        try:
            return await self._answered(request, handler)
        finally:
            if connection is not None and not connection.given_back:
                self._idle[number] = connection

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            response = await handler(request)
        except Refused as refused:
            response = refused.response()
        except web.HTTPException as error:
            await self._write(request, error)
            raise
        await self._write(request, response)
        return response

    async def _write(self, request: web.Request, response: web.StreamResponse) -> None:
        if _goes_at_once(request, response):  # A clock for it would take as long as to write it.
            await response.prepare(request)
            await response.write_eof()
            return
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await response.prepare(request)
                await response.write_eof()
        except TimeoutError:
            self._count(Incident.UNREAD)
            abort(request)

    @web.middleware
    async def _find_client(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Give a request that a trusted proxy passes on the address of its client, who may have a share of them."""
        address = self._proxies.client(request.remote, request.headers.getall("X-Forwarded-For", []))
        if address == request.remote:
            return await handler(request)
        client = network_of(address)
        if not self._forwarded.take(client):
            self._count(Incident.TOO_MANY_CONNECTIONS)
            raise Refused(429, "too_many_requests", "too many requests of one address are under way", retry_after=0)
        try:
            return await handler(request.clone(remote=address or ""))
        finally:
            self._forwarded.give_back(client)

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what no application here takes, before any of its body is read."""
        hosts = request.headers.getall("Host", [])
        if not request.raw_path.startswith(("/", "*")):
            # A target with a host of its own, which counts more than the header.
            hosts = [*hosts, request.url.raw_authority]
        if not all(map(self._hosts.accept, hosts)):
            raise Refused(
                421,
                "unknown_host",
                "this server is not called so; addresses, localhost and --allowed-hosts are known",
            )
        if "Content-Encoding" in request.headers:
            raise Refused(415, "encoded_body", "send the body as it is, without a Content-Encoding")
        codings = [each.lower() for each in request.headers.getall("Transfer-Encoding", [])]
        # Of a request that asks for another protocol, aiohttp takes the body for what comes after it.
        upgrades = "Upgrade" in request.headers and (request.content_length or codings)
        if request.version.major != 1 or upgrades or codings not in ([], ["chunked"]):
            request.protocol.close()
            raise Refused(
                501,
                "not_supported",
                "this server speaks HTTP/1.1, without Upgrade, and takes a body whole or chunked",
            )
        return await handler(request)


class _Connection(socket.socket):
    """A connection that is counted until either side closes it."""

    def __init__(self, accepted: socket.socket, *, quota: Quota, network: str) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self.setblocking(False)
        self._quota: Quota | None = quota
        self.network = network

    @property
    def given_back(self) -> bool:
        """Whether it is not counted any more."""
        return self._quota is None

    def end(self) -> None:
        """Let it be closed by what serves it, and count it no more."""
        self._give_back()
        with suppress(OSError):  # The client has gone.
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._give_back()
        super().close()

    def detach(self) -> int:
        # uvloop closes the descriptor itself, and detaches the socket from it.
        self._give_back()
        return super().detach()

    def _give_back(self) -> None:
        if self._quota is not None:
            self._quota.give_back(self.network)
            self._quota = None


def _number(request: web.Request) -> int:
    """Return the descriptor of the connection of a request; -1 if it is closed."""
    found = None if request.transport is None else request.transport.get_extra_info("socket")
    return -1 if found is None else int(found.fileno())


def _goes_at_once(request: web.Request, response: web.StreamResponse) -> bool:
    """Decide whether an answer is written without a wait: it is small, and its client has read all before it."""
    body = response.body if isinstance(response, web.Response) else None
    transport = request.transport
    return (
        isinstance(body, bytes)
        and len(body) <= AT_ONCE_BYTES
        and transport is not None
        and not transport.get_write_buffer_size()
    )


def abort(request: web.Request) -> None:
    """Close the connection of a request at once, and forget what its client has not read."""
    if request.transport is not None:
        request.transport.abort()


def _most_connections() -> int:
    """Return the number of connections that the descriptors of this process are enough for."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS  # which has no such limit
    import resource  # noqa: PLC0415  not on every system

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, soft // DESCRIPTORS_PART))
