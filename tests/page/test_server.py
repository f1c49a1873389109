"""Tests of the page's server: what a browser is given, and under which rules."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from stream_ldp.page.history import History
from stream_ldp.page.server import CONTENT_SECURITY_POLICY, PageError, PageServer
from tests.client.examples import of_minute

KNOWN = {"care-survey": {"kind": "records"}}


@pytest.fixture
async def server() -> AsyncIterator[PageServer]:
    server = PageServer(History(KNOWN), host="127.0.0.1", port=0, pause=0.05)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def client(server: PageServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url) as session:
        yield session


async def next_event(response: aiohttp.ClientResponse) -> tuple[str, Any]:
    """Read the next event, and leave out the signs of life."""
    while True:
        block = (await response.content.readuntil(b"\n\n")).decode()
        if found := re.fullmatch(r"event: (\w+)\ndata: (.*)\n\n", block):
            return found[1], json.loads(found[2])
        assert block == ": still here\n\n"


async def test_everything_that_the_page_names_is_served_by_the_same_server(client: aiohttp.ClientSession) -> None:
    asked, known = ["/"], {"/"}
    while asked:
        async with client.get(path := asked.pop()) as response:
            assert response.status == 200, path
            assert response.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
            text = await response.text()
        found = set(re.findall(r'(?:href|src)="(/[^"#]+)"', text))
        found |= {f"/static/{name}" for name in re.findall(r'from "\./([\w.]+)"', text)}
        asked += sorted(found - known)
        known |= found
    assert len(known) >= 8


async def test_no_file_names_another_host(client: aiohttp.ClientSession) -> None:
    for name in (
        "page.js",
        "draw.js",
        "records.js",
        "sets.js",
        "sampled.js",
        "strings.js",
        "places.js",
        "plain.js",
        "anything.js",
        "page.css",
    ):
        async with client.get(f"/static/{name}") as response:
            assert set(re.findall(r"https?://[^\"' )]+", await response.text())) <= {"http://www.w3.org/2000/svg"}


async def test_a_file_that_is_none_of_the_page_is_not_found(client: aiohttp.ClientSession) -> None:
    for path in ("/static/server.py", "/static/..%2fserver.py", "/nothing"):
        async with client.get(path) as response:
            assert response.status == 404
            assert response.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY


async def test_a_browser_gets_what_is_known_and_then_every_answer_as_it_was_published(
    server: PageServer, client: aiohttp.ClientSession
) -> None:
    server.show(of_minute(1))
    async with client.get("/events") as response:
        assert response.content_type == "text/event-stream"
        name, snapshot = await next_event(response)
        assert name == "snapshot"
        assert snapshot == {"collections": KNOWN, "answers": [json.loads(of_minute(1).to_bytes())]}
        server.show(of_minute(2, final=False))
        assert await next_event(response) == ("answer", json.loads(of_minute(2, final=False).to_bytes()))


async def test_an_answer_that_is_no_news_is_not_sent(server: PageServer, client: aiohttp.ClientSession) -> None:
    server.show(of_minute(3))
    async with client.get("/events") as response:
        await next_event(response)
        server.show(of_minute(2))
        server.show(of_minute(4))
        assert (await next_event(response))[1]["window"]["start_ms"] == 4 * 60_000


async def test_a_port_that_is_taken_is_told_with_what_to_do(server: PageServer) -> None:
    port = int(server.url.rstrip("/").rpartition(":")[2])
    second = PageServer(History(KNOWN), host="127.0.0.1", port=port)
    with pytest.raises(PageError, match=rf"127\.0\.0\.1:{port} is in use; choose one with --port"):
        await second.start()
    await second.stop()


async def test_stopping_lets_go_of_browsers_that_listen(client: aiohttp.ClientSession) -> None:
    server = PageServer(History(KNOWN), host="127.0.0.1", port=0)
    await server.start()
    async with aiohttp.ClientSession(server.url) as session, session.get("/events") as response:
        await next_event(response)
        await server.stop()
        assert await response.content.read() == b""
