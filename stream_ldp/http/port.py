"""Open a port, and bound what strangers can take of it.

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
from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from stream_ldp.errors import StreamLDPError
from stream_ldp.http.incidents import Incident, IncidentLog
from stream_ldp.http.network import network_of
from stream_ldp.http.proxies import Proxies
from stream_ldp.http.quota import Quota
from stream_ldp.http.refusal import Refused

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from aiohttp.web_protocol import RequestHandler

    from stream_ldp.http.hosts import Hosts

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
    """A port serves what answers its requests, on the caller's event loop."""

    def __init__(
        self,
        answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        *,
        host: str,
        port: int,
        hosts: Hosts,
        proxies: Proxies = Proxies(),  # noqa: B008  it is immutable
        option: str = "--port",
        tls: ssl.SSLContext | None = None,
        stop_seconds: float = 1.0,
        count: Callable[[Incident], None] = lambda _: None,
        refuse: Callable[[web.BaseRequest, Refused], web.Response] = lambda _, refused: refused.response(),
    ) -> None:
        """Prepare for one address.

        answer: answers a request, or raises `Refused`.
        port: port to open; 0 for any free one.
        hosts: names by which the server may be called.
        proxies: whom it believes for whom they ask; a request's `remote` is then their client's address.
        option: what chooses another port.
        stop_seconds: how long a stop waits for requests under way.
        count: called for each incident.
        refuse: makes the answer to a request that is refused, here or by `answer`.
        """
        self._answer, self._refuse = answer, refuse
        self._host = host
        self._port = port
        self._hosts = hosts
        self._proxies = proxies
        self._option = option
        self._tls = tls
        self._count = count
        most = _most_connections()
        self._connections, self._forwarded = (Quota(most=most, share=max(1, most // SHARES)) for _ in range(2))
        # By what serves them: connections without a request under way, the longest so first.
        self._idle: dict[RequestHandler, _Connection] = {}
        self._listeners: list[socket.socket] = []
        self._connecting: set[asyncio.Task[None]] = set()
        self._stop_seconds = stop_seconds
        self._runner: web.ServerRunner | None = None

    @property
    def address(self) -> tuple[str, int]:
        """The address and the port that are open; known once started."""
        host, port = self._listeners[0].getsockname()[:2]
        return host, port

    async def start(self) -> None:
        """Open the port.

        Raises:
            PortError: the port cannot be opened.
        """
        # Without the application of aiohttp, whose routes and middlewares take half as long again as all the rest.
        server = web.Server(
            self._serve,
            access_log=None,
            logger=IncidentLog(self._count),
            auto_decompress=False,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGER_SECONDS,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=self._stop_seconds)
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
            self._accept_from(listener, server)

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
        while self._listeners:
            listener = self._listeners.pop()
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()
        await asyncio.sleep(0)  # A task that is cancelled before it begins leaves its connection open.
        connecting = list(self._connecting)
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()

    def _accept_from(self, listener: socket.socket, server: web.Server) -> None:
        """Accept connections, one a turn of the loop, until it is closed."""
        if listener.fileno() >= 0:
            # Not `sock_accept`: a task that is cancelled loses what that has just accepted.
            asyncio.get_running_loop().add_reader(listener, self._accept, listener, server)

    def _accept(self, listener: socket.socket, server: web.Server) -> None:
        """Accept the connection that waits, and close it at once if it is one too many."""
        loop = asyncio.get_running_loop()
        try:
            accepted, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # A client has gone before its turn.
        except OSError as error:
            # Without a pause, it would fail as fast as the loop turns until something else is closed.
            log.warning("no connection can be accepted: %s", error.strerror)
            loop.remove_reader(listener)
            loop.call_later(ACCEPT_SECONDS, self._accept_from, listener, server)
            return
        network = network_of(address[0])
        shares = SHARES - 1 if self._proxies.trust(address[0]) else 1
        take = partial(self._connections.take, network, shares=shares)
        if take() or (self._make_room(network, shares) and take()):
            protocol = server()
            connection = _Connection(accepted, network=network, ended=partial(self._ended, protocol, network))
            self._idle[protocol] = connection
            task = loop.create_task(self._connect(protocol, connection))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)
        else:
            self._count(Incident.TOO_MANY_CONNECTIONS)
            accepted.close()

    def _make_room(self, network: str, shares: int) -> bool:
        """Close the connection that has been without a request for longest, of a client that has its share.

        Else connections that say nothing would keep a port shut for as long as they may stay.
        """
        full = self._connections.share_is_taken(network, shares=shares)
        for each in self._idle.values():
            if not full or each.network == network:
                each.end()
                self._count(Incident.TOO_MANY_CONNECTIONS)
                return True
        return False

    def _ended(self, protocol: RequestHandler, network: str) -> None:
        """Count a connection no more."""
        self._idle.pop(protocol, None)
        self._connections.give_back(network)

    async def _connect(self, protocol: RequestHandler, connection: _Connection) -> None:
        """Hand a connection to aiohttp, after the handshake if there is one."""
        limits = dict.fromkeys(("ssl_handshake_timeout", "ssl_shutdown_timeout"), HANDSHAKE_SECONDS)
        with suppress(OSError):  # It speaks no TLS, or has gone; asyncio closes it.
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, connection, ssl=self._tls, **({} if self._tls is None else limits)
            )

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        protocol = request.protocol
        connection = self._idle.pop(protocol, None)
        try:
            response = await self._answered(request)
            if not _goes_at_once(request, response):  # A clock for it would take as long as to write it.
                await self._write(request, response)
        finally:
            if connection is not None and not connection.has_ended:
                self._idle[protocol] = connection
        return response

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        client: str | None = None
        try:
            self._check(request)
            address = self._proxies.client(request.remote, request.headers.getall(hdrs.X_FORWARDED_FOR, []))
            if address != request.remote:
                client = self._share_of(address)
                request = request.clone(remote=address or "")
            return await self._answer(request)
        except Refused as refused:
            return self._refuse(request, refused)
        finally:
            if client is not None:
                self._forwarded.give_back(client)

    def _share_of(self, address: str | None) -> str:
        """Count a request that a trusted proxy passes on as one of its client, who may have a share of them."""
        client = network_of(address)
        if not self._forwarded.take(client):
            self._count(Incident.TOO_MANY_CONNECTIONS)
            raise Refused(429, "too_many_requests", "too many requests of one address are under way", retry_after=0)
        return client

    async def _write(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await response.prepare(request)
                await response.write_eof()
        except TimeoutError:
            self._count(Incident.UNREAD)
            abort(request)

    def _check(self, request: web.BaseRequest) -> None:
        """Refuse what nothing here takes, before any of its body is read."""
        headers = request.headers
        hosts = headers.getall(hdrs.HOST, [])
        if not request.raw_path.startswith(("/", "*")):
            # A target with a host of its own, which counts more than the header.
            hosts = [*hosts, request.url.raw_authority]
        if not all(map(self._hosts.accept, hosts)):
            raise Refused(
                421,
                "unknown_host",
                "this server is not called so; addresses, localhost and --allowed-hosts are known",
            )
        if hdrs.CONTENT_ENCODING in headers:
            raise Refused(415, "encoded_body", "send the body as it is, without a Content-Encoding")
        codings = [each.lower() for each in headers.getall(hdrs.TRANSFER_ENCODING, [])]
        # Of a request that asks for another protocol, aiohttp takes the body for what comes after it.
        upgrades = hdrs.UPGRADE in headers and (request.content_length or codings)
        if request.version.major != 1 or upgrades or codings not in ([], ["chunked"]):
            request.protocol.close()
            raise Refused(
                501,
                "not_supported",
                "this server speaks HTTP/1.1, without Upgrade, and takes a body whole or chunked",
            )


class _Connection(socket.socket):
    """A connection that is counted until either side closes it."""

    def __init__(self, accepted: socket.socket, *, network: str, ended: Callable[[], None]) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self.setblocking(False)
        self.network = network
        self._ended: Callable[[], None] | None = ended

    @property
    def has_ended(self) -> bool:
        """Whether it is not counted any more."""
        return self._ended is None

    def end(self) -> None:
        """Let it be closed by what serves it, and count it no more."""
        self._count_no_more()
        with suppress(OSError):  # The client has gone.
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._count_no_more()
        super().close()

    def detach(self) -> int:
        # uvloop closes the descriptor itself, and detaches the socket from it.
        self._count_no_more()
        return super().detach()

    def _count_no_more(self) -> None:
        if (ended := self._ended) is not None:
            self._ended = None
            ended()


def _goes_at_once(request: web.BaseRequest, response: web.StreamResponse) -> bool:
    """Decide whether an answer is written without a wait: it is small, and its client has read all before it."""
    body = response.body if isinstance(response, web.Response) else None
    transport = request.transport
    return (
        isinstance(body, bytes)
        and len(body) <= AT_ONCE_BYTES
        and transport is not None
        and not transport.get_write_buffer_size()
    )


def abort(request: web.BaseRequest) -> None:
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
