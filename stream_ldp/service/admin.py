"""This module serves the admin port: metrics for Prometheus, liveness and readiness for whoever runs the worker."""

from __future__ import annotations

import errno
import hmac
from typing import TYPE_CHECKING, Protocol

from aiohttp import web
from prometheus_client.exposition import choose_encoder

from stream_ldp.errors import StreamLDPError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.service.metrics import Metrics

__all__ = ["AdminPortError", "AdminServer", "Health"]


class Health(Protocol):
    """The health of a worker, as the admin port shows it."""

    def live(self) -> Sequence[str]:
        """Say why the process should be restarted; empty when it should not."""

    def ready(self) -> Sequence[str]:
        """Say why the worker does not do all of its work yet; empty when it does."""


class AdminPortError(StreamLDPError, RuntimeError):
    """The admin port cannot be opened; the message says why and how to choose another port."""


class AdminServer:
    """An admin server serves /metrics, /livez and /readyz on the caller's event loop.

    A health page has status 200 without problems and 503 with some, and lists them: {"problems": [...]}. Start the
    server before anything that takes long, or a worker that is rebuilding its state looks dead and is killed.
    """

    def __init__(self, *, host: str, port: int, health: Health, metrics: Metrics, token: str | None = None) -> None:
        """Prepare for one address.

        port: port to open; 0 for any free one.
        token: what a request has to bring as `Authorization: Bearer ...`; without it, metrics are refused and health
            pages have their status alone, which is all that a probe needs. None if nothing has to be brought.
        """
        self._token = token
        self._host = host
        self._port = port
        self._health = health
        self._registry = metrics.registry
        application = web.Application()
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get("/livez", self._livez)
        application.router.add_get("/readyz", self._readyz)
        self._runner = web.AppRunner(application, access_log=None)

    @property
    def port(self) -> int:
        """The port that is open; known once started."""
        return int(self._runner.addresses[0][1])

    async def start(self) -> None:
        """Open the port.

        Raises:
            AdminPortError: the port cannot be opened.
        """
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            place = f"{self._host}:{self._port}"
            if error.errno == errno.EADDRINUSE:
                raise AdminPortError(
                    f"the admin port {place} is in use, perhaps by another worker on this host: "
                    "choose one with --admin-port (0 for any free one)"
                ) from error
            raise AdminPortError(f"the admin port {place} cannot be opened: {error.strerror or error}") from error

    async def stop(self) -> None:
        """Close the port."""
        await self._runner.cleanup()

    def _knows(self, request: web.Request) -> bool:
        """Decide whether a request brings the token."""
        if self._token is None:
            return True
        brought = request.headers.get("Authorization", "").encode(errors="replace")
        # In constant time: the time of a comparison must not tell how much of a guess was right.
        return hmac.compare_digest(brought, f"Bearer {self._token}".encode())

    async def _metrics(self, request: web.Request) -> web.Response:
        if not self._knows(request):
            raise web.HTTPUnauthorized(
                headers={"WWW-Authenticate": "Bearer"}, text="give the token of admin_token_file as a bearer token\n"
            )
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self._registry), headers={"Content-Type": content_type})

    async def _livez(self, request: web.Request) -> web.Response:
        return self._health_page(request, self._health.live())

    async def _readyz(self, request: web.Request) -> web.Response:
        return self._health_page(request, self._health.ready())

    def _health_page(self, request: web.Request, problems: Sequence[str]) -> web.Response:
        shown = {"problems": list(problems)} if self._knows(request) else {}
        return web.json_response(shown, status=503 if problems else 200)
