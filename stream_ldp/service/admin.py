"""Serve the admin port: metrics for Prometheus, liveness and readiness for operators.

It has a thread of its own. Each request takes some turns of an event loop, and a busy worker's turns are long.
"""

import asyncio
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from aiohttp import web

from stream_ldp.http.exposition import exposition
from stream_ldp.http.health import health
from stream_ldp.http.hosts import Hosts
from stream_ldp.http.port import Port
from stream_ldp.http.routes import Routes
from stream_ldp.http.token import Tokens
from stream_ldp.service.metrics import Metrics

T = TypeVar("T")

#: Seconds between two signs of life of the worker's event loop, and seconds without one after which it is stuck.
#: Solves run on another thread, and a turn takes milliseconds.
BEAT_SECONDS, STUCK_SECONDS = 1.0, 30.0


class Health(Protocol):
    """The health of a worker, as the admin port shows it."""

    def live(self) -> Sequence[str]:
        """Say why the process should be restarted; empty when it should not. It is called from another thread."""

    def ready(self) -> Sequence[str]:
        """Say why the worker does not do all of its work yet; empty when it does."""


class AdminServer:
    """An admin server serves /metrics, /livez and /readyz on a thread of its own.

    A health page has status 200 without problems and 503 with some, and lists them: {"problems": [...]}. Start the
    server before anything that takes long, or a worker that is rebuilding its state looks dead and is killed.
    Readiness is asked for on the caller's event loop; that this loop is stuck is a problem of liveness.
    """

    # From the start on: the event loop of the port and its thread, that of the caller, and the sign of life of it.
    _loop: asyncio.AbstractEventLoop
    _thread: threading.Thread
    _served: asyncio.AbstractEventLoop
    _beat: asyncio.TimerHandle
    _beat_at: float

    def __init__(
        self,
        *,
        host: str,
        port: int,
        health: Health,
        metrics: Metrics,
        token: str | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        """Prepare for one address.

        port: port to open; 0 for any free one.
        token: what a request has to bring as `Authorization: Bearer ...`; without it, metrics are refused and health
            pages have their status alone, which is all that a probe needs. None if nothing has to be brought.
        hosts: names by which the server may be called; addresses and localhost alone if not given.
        """
        self._tokens = Tokens.of(token)
        self._health = health
        self._registry = metrics.registry
        self.routes = Routes(
            {
                ("GET", "/metrics"): self._metrics,
                ("GET", "/livez"): self._livez,
                ("GET", "/readyz"): self._readyz,
            }
        )
        self._port = Port(self.routes.answer, host=host, port=port, hosts=hosts or Hosts(), option="--admin-port")

    @property
    def port(self) -> int:
        """The port that is open; known once started."""
        return self._port.address[1]

    async def start(self) -> None:
        """Open the port.

        Raises:
            PortError: the port cannot be opened.
        """
        self._served, self._loop = asyncio.get_running_loop(), asyncio.new_event_loop()
        self._live_on()
        self._thread = threading.Thread(target=self._loop.run_forever, name="admin port", daemon=True)
        self._thread.start()
        try:
            await self._there(self._port.start())
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Close the port."""
        self._beat.cancel()
        await self._there(self._port.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """Work on the thread of the port, and wait for it here."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def _live_on(self) -> None:
        """Note that the worker's event loop turns, and go on doing so."""
        self._beat_at = time.monotonic()
        self._beat = self._served.call_later(BEAT_SECONDS, self._live_on)

    async def _metrics(self, request: web.BaseRequest) -> web.Response:
        if not self._tokens.admits(request):
            return web.Response(
                status=401,
                headers={"WWW-Authenticate": self._tokens.challenges[0]},
                text="give the token of admin_token_file as a bearer token\n",
            )
        return exposition(self._registry, request)

    async def _livez(self, request: web.BaseRequest) -> web.Response:
        silent = time.monotonic() - self._beat_at
        stuck = [f"the event loop has not turned for {silent:.0f} s"] if silent > STUCK_SECONDS else []
        return self._health_page(request, [*stuck, *self._health.live()])

    async def _readyz(self, request: web.BaseRequest) -> web.Response:
        async def ask() -> Sequence[str]:
            return self._health.ready()

        # On the loop of what it asks about, which changes while it is looked at from elsewhere.
        problems = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(ask(), self._served))
        return self._health_page(request, problems)

    def _health_page(self, request: web.BaseRequest, problems: Sequence[str]) -> web.Response:
        return health(problems, shown=self._tokens.admits(request))
