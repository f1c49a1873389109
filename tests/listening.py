"""Tests that speak HTTP to an application do so as its clients would: on a port of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def listening(application: web.Application) -> AsyncIterator[str]:
    """Serve an application without a log of its requests, as its command does, and yield its address."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    try:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
