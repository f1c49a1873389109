"""Tests of the admin port: what a probe and a scraper see."""

import asyncio
import http.client
import logging
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest

from stream_ldp.http.port import PortError
from stream_ldp.service import admin
from stream_ldp.service.admin import AdminServer
from stream_ldp.service.metrics import Metrics


@dataclass
class _Worker:
    live_problems: list[str] = field(default_factory=list)
    ready_problems: list[str] = field(default_factory=list)

    def live(self) -> list[str]:
        return self.live_problems

    def ready(self) -> list[str]:
        return self.ready_problems


@pytest.fixture
def worker() -> _Worker:
    return _Worker()


@pytest.fixture
async def server(worker: _Worker) -> AsyncIterator[AdminServer]:
    server = AdminServer(host="127.0.0.1", port=0, health=worker, metrics=Metrics(["care"]))
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def client(server: AdminServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session:
        yield session


async def _status(client: aiohttp.ClientSession, page: str) -> tuple[int, object]:
    async with client.get(page) as answer:
        return answer.status, await answer.json()


async def test_a_worker_that_is_still_rebuilding_is_live_but_not_ready(
    client: aiohttp.ClientSession, worker: _Worker
) -> None:
    worker.ready_problems = ["care: rebuilding its windows"]
    assert await _status(client, "/livez") == (200, {"problems": []})
    assert await _status(client, "/readyz") == (503, {"problems": ["care: rebuilding its windows"]})


async def test_a_worker_that_hangs_is_not_live(client: aiohttp.ClientSession, worker: _Worker) -> None:
    worker.live_problems = ["care: ingest has not turned for 40 s"]
    assert await _status(client, "/livez") == (503, {"problems": ["care: ingest has not turned for 40 s"]})


def test_a_worker_whose_event_loop_is_busy_is_live_until_it_counts_as_stuck(
    worker: _Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ask while the worker's loop does something else, and so in a test that is no coroutine."""

    async def ask_from_another_thread() -> list[int]:
        server = AdminServer(host="127.0.0.1", port=0, health=worker, metrics=Metrics(["care"]))
        await server.start()
        asking = asyncio.create_task(asyncio.to_thread(_asked, server.port))
        await asyncio.sleep(0)
        asked.wait(20)  # The loop of the worker does not turn meanwhile.
        monkeypatch.setattr(admin, "STUCK_SECONDS", 0.0)
        stuck.set()
        asked_again.wait(20)
        statuses = await asking
        await server.stop()
        return statuses

    def _asked(port: int) -> list[int]:
        statuses = [_status_of(port)]
        asked.set()
        stuck.wait(20)
        statuses.append(_status_of(port))
        asked_again.set()
        return statuses

    asked, stuck, asked_again = threading.Event(), threading.Event(), threading.Event()
    assert asyncio.run(ask_from_another_thread()) == [200, 503]


def _status_of(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status
    finally:
        connection.close()


async def test_prometheus_gets_the_format_that_it_asks_for(client: aiohttp.ClientSession) -> None:
    async with client.get("/metrics") as plain:
        assert plain.content_type == "text/plain"
        assert 'stream_ldp_reports_counted_total{collection="care"} 0.0' in await plain.text()
    async with client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"}) as open_:
        assert open_.content_type == "application/openmetrics-text"
        assert (await open_.text()).endswith("# EOF\n")


async def test_nothing_can_be_changed_through_the_port(client: aiohttp.ClientSession) -> None:
    for page in ("/metrics", "/livez", "/readyz"):
        async with client.post(page) as answer:
            assert answer.status == 405
    async with client.get("/") as answer:
        assert answer.status == 404


async def test_a_port_in_use_is_named_with_the_option_that_changes_it(server: AdminServer, worker: _Worker) -> None:
    second = AdminServer(host="127.0.0.1", port=server.port, health=worker, metrics=Metrics([]))
    with pytest.raises(PortError, match=f"the port 127.0.0.1:{server.port} is in use.*--admin-port"):
        await second.start()


async def test_an_address_that_cannot_be_opened_is_named(worker: _Worker) -> None:
    server = AdminServer(host="192.0.2.1", port=0, health=worker, metrics=Metrics([]))
    with pytest.raises(PortError, match=r"the port 192\.0\.2\.1:0 cannot be opened"):
        await server.start()


async def test_a_stopped_server_frees_its_port(worker: _Worker) -> None:
    server = AdminServer(host="127.0.0.1", port=0, health=worker, metrics=Metrics([]))
    await server.start()
    port = server.port
    await server.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


@pytest.fixture
async def guarded(worker: _Worker) -> AsyncIterator[AdminServer]:
    server = AdminServer(host="127.0.0.1", port=0, health=worker, metrics=Metrics(["care"]), token="geheim")
    await server.start()
    yield server
    await server.stop()


async def test_a_guarded_port_gives_details_for_a_token_only(guarded: AdminServer, worker: _Worker) -> None:
    worker.ready_problems = ["care: rebuilding its windows"]
    async with aiohttp.ClientSession(f"http://127.0.0.1:{guarded.port}") as client:
        for wrong in ({}, {"Authorization": "Bearer falsch"}, {"Authorization": "geheim"}):
            async with client.get("/metrics", headers=wrong) as answer:
                assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
                assert "stream_ldp" not in await answer.text()
        assert await _status(client, "/livez") == (200, {})
        assert await _status(client, "/readyz") == (503, {})
        client.headers["Authorization"] = "Bearer geheim"
        assert await _status(client, "/readyz") == (503, {"problems": ["care: rebuilding its windows"]})
        async with client.get("/metrics") as answer:
            assert answer.status == 200


async def test_no_log_at_any_level_tells_the_token(
    guarded: AdminServer, worker: _Worker, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> list[str]:
        raise RuntimeError("broken on purpose")

    with caplog.at_level(logging.DEBUG):
        async with aiohttp.ClientSession(f"http://127.0.0.1:{guarded.port}") as client:
            client.headers["Authorization"] = "Bearer geheim"
            assert (await _status(client, "/readyz"))[0] == 200
            worker.ready = fail  # type: ignore[method-assign]
            async with client.get("/readyz") as answer:
                assert answer.status == 500
                told = await answer.text()
        # A request that is no HTTP is told as far as it could be read.
        reader, writer = await asyncio.open_connection("127.0.0.1", guarded.port)
        writer.write(b"GET /metrics HTTP/1.1\r\nAuthorization: Bearer geheim\r\nbroken line\r\n\r\n")
        told += (await reader.read()).decode()
        writer.close()
    told += "\n".join(
        f"{record.getMessage()} {record.args!r} {logging.Formatter().format(record)}" for record in caplog.records
    )
    # The message of an error may repeat what was sent.
    assert "1 so far: RuntimeError in stream_ldp.service.admin, line" in told
    assert "broken on purpose" not in told
    assert "geheim" not in told


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_nothing_can_be_written_to_the_admin_port(client: aiohttp.ClientSession, method: str) -> None:
    for page in ("/metrics", "/livez", "/readyz"):
        async with client.request(method, page) as answer:
            assert answer.status == 405
