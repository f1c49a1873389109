"""Tests that speak HTTP to a server do so as its clients would: on a port of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from stream_ldp.gateway.server import Gateway
from stream_ldp.http.hosts import Hosts
from stream_ldp.http.port import Port
from stream_ldp.http.proxies import Proxies


@asynccontextmanager
async def listening(
    gateway: Gateway, *, hosts: Hosts | None = None, proxies: Proxies | None = None
) -> AsyncIterator[str]:
    """Serve a gateway as its command does, and yield its address."""
    port = Port(
        gateway.answer,
        host="127.0.0.1",
        port=0,
        hosts=hosts or Hosts(),
        proxies=proxies or Proxies(),
        stop_seconds=0.1,
        count=gateway.note,
        refuse=gateway.refuse,
    )
    async with gateway.connected():
        try:
            await port.start()
            yield f"http://127.0.0.1:{port.address[1]}"
        finally:
            await port.stop()


@asynccontextmanager
async def site(application: web.Application) -> AsyncIterator[str]:
    """Serve pages that use a gateway, and yield their origin."""
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
