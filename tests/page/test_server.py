"""Tests of the page's server: what a browser is given, and under which rules."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from stream_ldp.http.port import PortError
from stream_ldp.page import server
from stream_ldp.page.history import History
from stream_ldp.page.server import CONTENT_SECURITY_POLICY, PageServer
from tests.client.examples import of_minute

KNOWN = {"care-survey": {"kind": "records"}}


@pytest.fixture
async def page() -> AsyncIterator[PageServer]:
    page = PageServer(History(KNOWN), host="127.0.0.1", port=0, pause=0.05)
    await page.start()
    yield page
    await page.stop()


@pytest.fixture
async def client(page: PageServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(page.url) as session:
        yield session


async def next_event(response: aiohttp.ClientResponse) -> tuple[str, Any]:
    """Read the next event, and leave out the signs of life."""
    while True:
        block = (await response.content.readuntil(b"\n\n")).decode()
        if found := re.fullmatch(r"event: (\w+)\ndata: (.*)\n\n", block):
            return found[1], json.loads(found[2])
        assert block == ": still here\n\n"


async def test_everything_that_the_page_names_is_served_by_the_same_server(client: aiohttp.ClientSession) -> None:
    asked, known = ["/", "/plan"], {"/", "/plan"}
    while asked:
        async with client.get(path := asked.pop()) as response:
            assert response.status == 200, path
            assert response.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
            text = await response.text()
        # Behind a proxy the page may be under any path, so that no address begins at the root.
        assert not re.findall(r'(?:href|src)="/|(?:EventSource|fetch)\(["`]/', text)
        found = {f"/{name}" for name in re.findall(r'(?:href|src)="([^"#]+)"', text) if name != "./"}
        found |= {f"/static/{name}" for name in re.findall(r'from "\./([\w.]+)"', text)}
        asked += sorted(found - known)
        known |= found
    assert len(known) >= 8


async def test_no_file_names_another_host(client: aiohttp.ClientSession) -> None:
    for name in (
        "kinds.js",
        "page.js",
        "draw.js",
        "records.js",
        "sets.js",
        "sampled.js",
        "strings.js",
        "pairs.js",
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
    page: PageServer, client: aiohttp.ClientSession
) -> None:
    page.show(of_minute(1))
    async with client.get("/events") as response:
        assert response.content_type == "text/event-stream"
        assert response.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        name, snapshot = await next_event(response)
        assert name == "snapshot"
        assert snapshot == {"collections": KNOWN, "answers": [json.loads(of_minute(1).to_bytes())]}
        page.show(of_minute(2, final=False))
        assert await next_event(response) == ("answer", json.loads(of_minute(2, final=False).to_bytes()))


async def test_an_answer_that_is_no_news_is_not_sent(page: PageServer, client: aiohttp.ClientSession) -> None:
    page.show(of_minute(3))
    async with client.get("/events") as response:
        await next_event(response)
        page.show(of_minute(2))
        page.show(of_minute(4))
        assert (await next_event(response))[1]["window"]["start_ms"] == 4 * 60_000


async def test_a_port_that_is_taken_is_reported_with_what_to_do(page: PageServer) -> None:
    port = int(page.url.rstrip("/").rpartition(":")[2])
    second = PageServer(History(KNOWN), host="127.0.0.1", port=port)
    with pytest.raises(PortError, match=rf"127\.0\.0\.1:{port} is in use; choose another one with --port"):
        await second.start()
    await second.stop()


async def test_stopping_lets_go_of_browsers_that_listen(client: aiohttp.ClientSession) -> None:
    page = PageServer(History(KNOWN), host="127.0.0.1", port=0)
    await page.start()
    async with aiohttp.ClientSession(page.url) as session, session.get("/events") as response:
        await next_event(response)
        await page.stop()
        assert await response.content.read() == b""


async def test_browsers_beyond_the_most_are_reported_when_to_come_back(
    page: PageServer, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "READERS", 2)
    async with client.get("/events") as first, client.get("/events") as second:
        await next_event(first)
        await next_event(second)
        async with client.get("/events") as third:
            assert (third.status, third.headers["Retry-After"]) == (503, "31")
            assert third.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    async with asyncio.timeout(20):
        while page._broadcast.readers:
            page.show(of_minute(1))
            await asyncio.sleep(0.01)
    async with client.get("/events") as fourth:
        assert (await next_event(fourth))[0] == "snapshot"


async def test_a_browser_that_does_not_read_is_let_go_and_one_that_reads_gets_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "PIECE_SECONDS", 0.2)
    large = History({"care-survey": {"kind": "records", "padding": "x" * 2**24}})
    page = PageServer(large, host="127.0.0.1", port=0)
    page.show(of_minute(1))
    await page.start()
    port = int(page.url.rstrip("/").rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    async with asyncio.timeout(20):
        while not page._broadcast.readers:
            await asyncio.sleep(0.01)
        while page._broadcast.readers:
            await asyncio.sleep(0.01)
        # It had the last reference to a connection that counts.
        while page._port._connections.taken:
            await asyncio.sleep(0.01)
    writer.transport.abort()
    monkeypatch.setattr(server, "PIECE_SECONDS", 20)
    async with aiohttp.ClientSession(page.url) as session, session.get("/events") as response:
        read = bytearray()
        while not read.endswith(b"\n\n"):
            read += await response.content.readany()
        snapshot = json.loads(read.removeprefix(b"event: snapshot\ndata: "))
        assert snapshot["answers"] == [json.loads(of_minute(1).to_bytes())]
    await page.stop()


async def test_with_a_token_nothing_is_shown_without_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    page = PageServer(History(KNOWN), host="127.0.0.1", port=0, token="geheim")
    await page.start()
    page.show(of_minute(1))
    paths = ("/", "/static/page.js", "/events", "/v1/collections/care-survey/answers", "/nothing")
    try:
        async with aiohttp.ClientSession(page.url) as client:
            for path in paths:
                for wrong in ({}, {"Authorization": "Bearer falsch"}, {"Authorization": "geheim"}):
                    async with client.get(path, headers=wrong) as response:
                        assert response.status == 401
                        found = response.headers.getall("WWW-Authenticate")
                        assert [each.split()[0] for each in found] == ["Basic", "Bearer"]
                        assert "care-survey" not in await response.text()
            async with client.get("/livez") as response:
                assert (response.status, await response.text()) == (200, "ok\n")
            for auth in (
                {"Authorization": "Bearer geheim"},
                {"Authorization": aiohttp.encode_basic_auth("me", "geheim")},
            ):
                for path in paths[:-1]:
                    async with client.get(path, headers=auth) as response:
                        assert response.status == 200
    finally:
        await page.stop()
    assert "geheim" not in caplog.text


async def test_the_page_says_why_no_answers_come_to_those_who_have_its_token() -> None:
    problems = ["no broker has answered for 14 s: first:9092: connection refused"]
    page = PageServer(History(KNOWN), host="127.0.0.1", port=0, token="geheim", problems=lambda: problems)
    await page.start()
    try:
        async with aiohttp.ClientSession(page.url) as client:
            async with client.get("/readyz") as response:
                assert (response.status, "first:9092" in await response.text()) == (401, False)
            client.headers["Authorization"] = "Bearer geheim"
            async with client.get("/readyz") as response:
                assert (response.status, await response.json()) == (503, {"problems": problems})
            problems = []
            async with client.get("/readyz") as response:
                assert (response.status, await response.json()) == (200, {"problems": []})
    finally:
        await page.stop()
