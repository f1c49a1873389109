"""Serve the page: its files, and a stream of server-sent events with the answers."""

from __future__ import annotations

import asyncio
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Any

from aiohttp import web

from stream_ldp.collection.located import suggestion
from stream_ldp.http.health import health
from stream_ldp.http.hosts import Hosts
from stream_ldp.http.port import Port, abort
from stream_ldp.http.proxies import Proxies
from stream_ldp.http.refusal import Refused
from stream_ldp.http.routes import Routes
from stream_ldp.http.token import Tokens
from stream_ldp.page.answers import Query, explained, find
from stream_ldp.page.broadcast import Broadcast, TooSlow
from stream_ldp.page.what_if import WhatIf, plan

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.page.history import History
    from stream_ldp.pipeline.answer import Answer

#: The page loads nothing from elsewhere, runs no inline script or style, and cannot be put into another page. Data
#: are pictures of its own drawings alone.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

#: Seconds of silence after which a comment is sent: proxies take a connection for dead after 30 seconds or more.
PAUSE = 15.0

#: Browsers that are shown the answers at once, each with 0.2 MB and an open connection, and seconds after which one
#: beyond may ask again.
READERS, RETRY_SECONDS = 200, 30

#: Queries that are answered at a time, each with the memory of its rows; and plans, each with seconds of a processor.
#: Each has places of its own: two slow plans would otherwise close the answers to everybody.
QUERIES, PLANS = 2, 1

#: Bytes that are written to a browser at once, and seconds that it may take to read as many.
PIECE, PIECE_SECONDS = 2**16, 10.0

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class PageServer:
    """A page server shows one history to any number of browsers, on the caller's event loop."""

    def __init__(
        self,
        history: History,
        *,
        collections: Mapping[str, Collection] | None = None,
        host: str,
        port: int,
        hosts: Hosts = Hosts(),  # noqa: B008  it is immutable
        proxies: Proxies = Proxies(),  # noqa: B008  it is immutable
        token: str | None = None,
        problems: Callable[[], list[str]] = list,
        pause: float = PAUSE,
    ) -> None:
        """Prepare for one address.

        collections: those that the page plans, by name; none if not given.
        port: port to open; 0 for any free one.
        hosts: names by which the page may be called; addresses and localhost alone if not given.
        proxies: whom it believes for whom they ask.
        token: what a request has to bring; see `Tokens`. None for nothing.
        problems: say why answers do not come; none if they do.
        pause: seconds of silence after which a browser gets a sign of life.
        """
        self._history = history
        self._problems = problems
        self._pause = pause
        self._broadcast = Broadcast()
        self._querying, self._planning = asyncio.Semaphore(QUERIES), asyncio.Semaphore(PLANS)
        self._collections = collections or {}
        self._tokens = Tokens.of(token, basic=True)
        static = resources.files("stream_ldp.page").joinpath("static")
        self.routes = Routes(
            {
                ("GET", "/"): _page("index.html", title="stream_ldp", script="page.js"),
                ("GET", "/plan"): _page("plan.html", title="Plan · stream_ldp", script="plan.js"),
                **{
                    ("GET", f"/static/{path.name}"): _file(path.name)
                    for path in static.iterdir()
                    if not path.name.endswith(".html")  # the parts of pages
                },
                ("GET", "/livez"): _live,
                ("GET", "/readyz"): self._ready,
                ("GET", "/events"): self._events,
                ("GET", "/v1/collections"): self._known,
                ("GET", "/v1/collections/{name}/answers"): self._answers,
                ("GET", "/v1/collections/{name}/sentences"): self._sentences,
                ("GET", "/v1/collections/{name}/plan"): self._plan,
            }
        )
        self._port = Port(self._answer, host=host, port=port, hosts=hosts, proxies=proxies, refuse=_refused)

    @property
    def url(self) -> str:
        """The address of the page; known once started."""
        host, port = self._port.address
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    async def start(self) -> None:
        """Open the port.

        Raises:
            PortError: the port cannot be opened.
        """
        await self._port.start()

    async def stop(self) -> None:
        """Close the port and all connections."""
        self._broadcast.end()
        await self._port.stop()

    def show(self, answer: Answer) -> None:
        """Take an answer into the history, and send it to all browsers."""
        if (line := self._history.add(answer)) is not None:
            self._broadcast.send(line)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer requests with the token, and those of probes, which are shown nothing."""
        if request.path != "/livez" and not self._tokens.admits(request):
            refused = Refused(
                401, "unauthorized", "give the token of page_token_file: as a bearer token, or as password"
            )
            response: web.StreamResponse = refused.response()
            for challenge in self._tokens.challenges:
                response.headers.add("WWW-Authenticate", challenge)
        else:
            response = await self.routes.answer(request)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    async def _ready(self, _: web.BaseRequest) -> web.Response:
        return health(self._problems())

    async def _answers(self, request: web.BaseRequest, name: str) -> web.Response:
        query = Query.parse(request.query)
        _require_known(name, self._history.collections)
        found = await _in_turn(self._querying, find, self._history, name, query)
        headers = {"ETag": found.etag, "Cache-Control": "no-cache"}
        if found.next is not None:
            headers["Link"] = f'<?{found.next}>; rel="next"'
        if found.etag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        charset = None if query.form == "parquet" else "utf-8"
        return web.Response(body=found.body, content_type=found.media, charset=charset, headers=headers)

    async def _sentences(self, request: web.BaseRequest, name: str) -> web.Response:
        query = Query.parse(request.query)
        _require_known(name, self._history.collections)
        found = await _in_turn(self._querying, explained, self._history, name, query)
        return web.json_response({"collection": name, "answers": found}, headers={"Cache-Control": "no-cache"})

    async def _known(self, _: web.BaseRequest) -> web.Response:
        return web.json_response({"collections": list(self._collections)})

    async def _plan(self, request: web.BaseRequest, name: str) -> web.Response:
        asked = WhatIf.parse(request.query)
        _require_known(name, list(self._collections))
        return web.json_response(await _in_turn(self._planning, plan, self._collections[name], asked))

    async def _events(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._broadcast.readers >= READERS:
            raise Refused(503, "busy", f"{READERS} browsers are shown the answers", retry_after=RETRY_SECONDS)
        response = web.StreamResponse(
            headers={**_HEADERS, "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store"}
        )
        # Listening begins before the snapshot is taken, so that no answer falls between the two.
        with self._broadcast.reader() as reader:
            try:
                await response.prepare(request)
                await _write(response, (b"event: snapshot\ndata: ", *self._history.snapshot(), b"\n\n"))
                async for line in reader.events(pause=self._pause):
                    await _write(
                        response,
                        (b": still here\n\n",) if line is None else (b"event: answer\ndata: ", line, b"\n\n"),
                    )
            except TimeoutError:
                abort(request)  # What it has not read would wait with the connection.
            except (TooSlow, ConnectionError):
                pass  # The browser connects again and gets a snapshot.
        return response


def _require_known(name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise Refused(404, "unknown_collection", f"this page has no collection {name!r}{suggestion(name, known)}")


async def _in_turn(places: asyncio.Semaphore, work: Callable[..., Any], *given: Any) -> Any:
    """Work on a thread if a place is free.

    Raises:
        Refused: none is.
    """
    if places.locked():
        raise Refused(503, "busy", "as many queries are answered as may be at once", retry_after=1)
    async with places:
        return await asyncio.to_thread(work, *given)


async def _write(response: web.StreamResponse, parts: Iterable[bytes]) -> None:
    """Write parts of an event, each from the bytes that all browsers share.

    Raises:
        TimeoutError: the browser does not read.
    """
    for part in parts:
        for start in range(0, len(part), PIECE):
            async with asyncio.timeout(PIECE_SECONDS):
                await response.write(memoryview(part)[start : start + PIECE])


def _static(name: str) -> bytes:
    return resources.files("stream_ldp.page").joinpath("static", name).read_bytes()


def _page(name: str, **words: str) -> Callable[[web.BaseRequest], Awaitable[web.Response]]:
    """Serve a page: its body below the head that all pages have, with its own words."""
    head = Template(_static("head.html").decode()).substitute(words)
    return _served(head.encode() + _static(name), "text/html")


def _file(name: str) -> Callable[[web.BaseRequest], Awaitable[web.Response]]:
    return _served(_static(name), _TYPES[name[name.rindex(".") :]])


def _served(body: bytes, kind: str) -> Callable[[web.BaseRequest], Awaitable[web.Response]]:
    async def serve(_: web.BaseRequest) -> web.Response:
        return web.Response(body=body, content_type=kind, charset="utf-8", headers={"Cache-Control": "no-cache"})

    return serve


async def _live(_: web.BaseRequest) -> web.Response:
    return web.Response(text="ok\n", headers={"Cache-Control": "no-store"})


def _refused(_: web.BaseRequest, refused: Refused) -> web.Response:
    response = refused.response()
    response.headers.update(_HEADERS)
    return response
