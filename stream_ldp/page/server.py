"""This module serves the page: its files, and a stream of server-sent events with the answers."""

from __future__ import annotations

import errno
from importlib import resources
from typing import TYPE_CHECKING

from aiohttp import web

from stream_ldp.errors import StreamLDPError
from stream_ldp.page.broadcast import Broadcast, TooSlow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from stream_ldp.page.history import History
    from stream_ldp.pipeline.answer import Answer

__all__ = ["CONTENT_SECURITY_POLICY", "PageError", "PageServer"]

#: The page loads nothing from elsewhere, runs no inline script or style, and cannot be put into another page.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

#: Seconds of silence after which a comment is sent: proxies take a connection for dead after 30 seconds or more.
PAUSE = 15.0

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class PageError(StreamLDPError, RuntimeError):
    """The page's port cannot be opened; the message says why and how to choose another one."""


class PageServer:
    """A page server shows one history to any number of browsers, on the caller's event loop."""

    def __init__(self, history: History, *, host: str, port: int, pause: float = PAUSE) -> None:
        """Prepare for one address.

        port: port to open; 0 for any free one.
        pause: seconds of silence after which a browser gets a sign of life.
        """
        self._history = history
        self._host = host
        self._port = port
        self._pause = pause
        self._broadcast = Broadcast()
        application = web.Application(middlewares=[_with_headers])
        application.on_shutdown.append(self._say_goodbye)
        application.router.add_get("/", _file("index.html"))
        for path in sorted(
            resources.files("stream_ldp.page").joinpath("static").iterdir(), key=lambda each: each.name
        ):
            application.router.add_get(f"/static/{path.name}", _file(path.name))
        application.router.add_get("/events", self._events)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)

    @property
    def url(self) -> str:
        """The address of the page; known once started."""
        host, port = self._runner.addresses[0][:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    async def start(self) -> None:
        """Open the port.

        Raises:
            PageError: the port cannot be opened.
        """
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be opened: {error.strerror or error}"
            raise PageError(
                f"the page's port {self._host}:{self._port} {why}; choose one with --port (0 for any free one)"
            ) from error

    async def stop(self) -> None:
        """Close the port and all connections."""
        await self._runner.cleanup()

    def show(self, answer: Answer) -> None:
        """Take an answer into the history, and send it to all browsers."""
        if (line := self._history.add(answer)) is not None:
            self._broadcast.send(line)

    async def _say_goodbye(self, _: web.Application) -> None:
        self._broadcast.end()

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store"}
        )
        # Listening begins before the snapshot is written, so that no answer falls between the two.
        with self._broadcast.reader() as reader:
            await response.prepare(request)
            try:
                await response.write(_event("snapshot", self._history.snapshot()))
                async for line in reader.events(pause=self._pause):
                    await response.write(b": still here\n\n" if line is None else _event("answer", line))
            except (TooSlow, ConnectionError):
                pass  # The browser connects again and gets a snapshot.
        return response


def _event(name: str, line: str) -> bytes:
    return f"event: {name}\ndata: {line}\n\n".encode()


def _file(name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    body = resources.files("stream_ldp.page").joinpath("static", name).read_bytes()
    kind = _TYPES[name[name.rindex(".") :]]

    async def serve(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type=kind, charset="utf-8", headers={"Cache-Control": "no-cache"})

    return serve


@web.middleware
async def _with_headers(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    try:
        response = await handler(request)
    except web.HTTPException as error:
        error.headers.update(_HEADERS)
        raise
    if not response.prepared:
        response.headers.update(_HEADERS)
    return response
