"""Tests that speak HTTP to an application do so as its clients would: on a port of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from stream_ldp.http.hosts import Hosts
from stream_ldp.http.incidents import Incident
from stream_ldp.http.port import Port
from stream_ldp.http.proxies import Proxies


@asynccontextmanager
async def listening(
    application: web.Application,
    *,
    hosts: Hosts | None = None,
    proxies: Proxies | None = None,
    count: Callable[[Incident], None] = lambda _: None,
) -> AsyncIterator[str]:
    """Serve an application as its command does, and yield its address."""
    port = Port(
        application,
        host="127.0.0.1",
        port=0,
        hosts=hosts or Hosts(),
        proxies=proxies or Proxies(),
        stop_seconds=0.1,
        count=count,
    )
    try:
        await port.start()
        yield f"http://127.0.0.1:{port.address[1]}"
    finally:
        await port.stop()
