"""Tests of the port that all servers share: what strangers can take of it, and what they cannot."""

from __future__ import annotations

import asyncio
import gc
import gzip
import logging
import resource
import socket
import ssl
import subprocess
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.compression_utils import ZLibDecompressor

from stream_ldp.http import port
from stream_ldp.http.hosts import Hosts
from stream_ldp.http.incidents import Incident
from stream_ldp.http.port import Port, PortError
from stream_ldp.http.proxies import Proxies
from tests.http.servers import PATIENCE, SERVERS, Served

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

LARGE = 2**26


@pytest.fixture(params=SERVERS, ids=lambda each: each.__name__)
def serve(request: pytest.FixtureRequest) -> Callable[[Hosts], Any]:
    """Each server of this package, which serves within `async with`."""
    found: Callable[[Hosts], Any] = request.param
    return found


@pytest.fixture
async def served(serve: Callable[[Hosts], Any]) -> AsyncIterator[Served]:
    async with serve(Hosts.of("known.example")) as found:
        yield found


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zzz", "gzip, gzip", "identity"])
async def test_a_body_with_an_encoding_is_refused_and_never_inflated(
    served: Served, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inflated: list[object] = []

    class Inflater(ZLibDecompressor):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            inflated.append(arguments)
            super().__init__(*arguments, **options)

    monkeypatch.setattr("aiohttp.http_parser.ZLibDecompressor", Inflater)
    body = gzip.compress(bytes(2**20))
    for method in ("GET", "POST"):
        head = served.head(f"Content-Encoding: {encoding}", f"Content-Length: {len(body)}", method=method)
        answer = await served.ask(head + body)
        assert answer.startswith(b"HTTP/1.1 415 ")
        assert b'"reason": "encoded_body"' in answer
    assert inflated == []


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"]
)
async def test_a_connection_without_a_whole_request_is_closed_after_a_while(
    serve: Callable[[Hosts], Any], sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port, "IDLE_SECONDS", 0.2)
    async with serve(Hosts()) as served, served.connection() as (reader, writer):
        writer.write(sent)
        await reader.read()  # It ends, without a `Connection: close`.


async def test_connections_that_say_nothing_shut_a_port_for_nobody(
    serve: Callable[[Hosts], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port, "MAX_CONNECTIONS", 8)
    async with serve(Hosts()) as served, AsyncExitStack() as held:
        first: list[asyncio.StreamReader] = []
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"):
            for _ in range(2):
                reader, writer = await held.enter_async_context(served.connection(address))
                writer.write(b"G")
                first.append(reader)
        # All places are taken, and the share of each: what has been silent for longest makes room.
        for address in ("127.0.0.5", "127.0.0.1", "127.0.0.6"):
            answer = await served.ask(served.head(), address=address)
            assert answer.startswith(b"HTTP/1.1 200 "), address
        assert await first[0].read() == b""


def test_half_of_the_descriptors_are_for_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in ((200, 100), (1, 1), (2**20, 1_024), (resource.RLIM_INFINITY, 1_024)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert port._most_connections() == most


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
async def test_a_page_whose_name_is_made_to_mean_this_machine_reads_nothing(served: Served, host: str) -> None:
    for path in (served.path, "/metrics", "/events", "/nothing"):
        answer = await served.ask(served.head(host=host, path=path))
        assert answer.startswith(b"HTTP/1.1 421 ")
        assert b'"reason": "unknown_host"' in answer


async def test_a_target_that_names_another_host_than_the_header_does_is_refused(served: Served) -> None:
    for target in ("http://evil.example", "http://evil.example:80", "http://127.0.0.1@evil.example"):
        answer = await served.ask(served.head(path=f"{target}{served.path}"))
        assert answer.partition(b"\r\n")[0].split()[1] in {b"400", b"421"}, target
    for target in ("http://known.example", "http://127.0.0.1:1", "http://[::1]:8443"):
        assert (await served.ask(served.head(path=f"{target}{served.path}"))).startswith(b"HTTP/1.1 200 "), target


@pytest.mark.parametrize("method", ["OPTIONS", "PUT"])
async def test_a_question_of_a_browser_is_refused_as_its_request_would_be(served: Served, method: str) -> None:
    for lines in ((), ("Origin: http://evil.example", "Access-Control-Request-Method: POST")):
        answer = await served.ask(served.head(*lines, method=method, host="evil.example"))
        assert answer.split()[1] in {b"421", b"403"}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1", "localhost:8443", "[::1]:8443", "known.example"])
async def test_a_server_answers_to_its_names_and_to_addresses(served: Served, host: str) -> None:
    assert (await served.ask(served.head(host=host))).startswith(b"HTTP/1.1 200 ")


async def test_a_probe_that_names_no_host_is_answered(served: Served) -> None:
    # Scripts of a page always name one.
    answer = await served.ask(served.head(host="").replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert b" 200 " in answer.partition(b"\r\n")[0]


async def test_of_two_names_both_have_to_be_known(served: Served) -> None:
    answer = await served.ask(served.head("Host: evil.example"))
    assert answer.partition(b"\r\n")[0].split()[1] in {b"400", b"421"}


async def test_forms_of_requests_that_are_read_otherwise_than_meant_are_refused(served: Served) -> None:
    chunked = b"1\r\nx\r\n0\r\n\r\n"
    for head in (
        served.head("Transfer-Encoding: gzip, chunked", method="POST") + chunked,
        served.head("Upgrade: h2c", "Content-Length: 1", method="POST").replace(b": close", b": Upgrade") + b"x",
        served.head().replace(b"HTTP/1.1", b"HTTP/2.0"),
    ):
        status, _, rest = (await served.ask(head)).partition(b"\r\n")
        assert b" 501 " in status
        assert b'"reason": "not_supported"' in rest
    # Without a body there is nothing to misread: many clients ask for HTTP/2 first.
    head = served.head("Upgrade: h2c").replace(b": close", b": Upgrade, close")
    assert (await served.ask(head)).startswith(b"HTTP/1.1 200 ")


async def test_no_line_of_the_log_has_an_address_or_a_byte_of_a_request(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    address, secret = "127.0.9.9", b"SECRETTOKEN"
    with caplog.at_level(logging.DEBUG):
        for data in (
            b"GET / HTTP/1.1\r\nAuthorization : Bearer " + secret + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\nAuthorization: Bearer " + secret + b"\x01\r\n\r\n",
            secret * 1_000,
            b"\x16\x03\x01" + secret,
            secret + b" / HTTP/1.1\r\n\r\n",
            served.head("Content-Length: x" + secret.decode()),
        ):
            await served.ask(data, address=address)
        for path in ("/v1/collections/care-survey/batches", served.path):
            lines = "Content-Length: 100", "Content-Type: application/vnd.sldp.batch"
            async with served.connection(address) as (_, writer):
                writer.write(served.head(*lines, method="POST", path=path) + secret)
                await writer.drain()
                await asyncio.sleep(0.05)  # So that it goes in the middle of an upload, not before.
        assert (await served.ask(served.head())).startswith(b"HTTP/1.1 200 ")
    said = "".join(f"{each.getMessage()} {logging.Formatter().format(each)}" for each in caplog.records)
    assert [word for word in (address, secret.decode(), "Traceback") if word in said] == []


class Opened:
    """A port with a handler of a test's own, and what it counts."""

    def __init__(self, handler: Callable[[web.BaseRequest], Any], **options: Any) -> None:
        self.counted: Counter[Incident] = Counter()
        self.port = Port(
            handler,
            host="127.0.0.1",
            port=0,
            hosts=Hosts(),
            count=lambda incident: self.counted.update([incident]),
            **options,
        )

    async def __aenter__(self) -> Served:
        await self.port.start()
        return Served(port=self.port.address[1], path="/")

    async def __aexit__(self, *_: object) -> None:
        await self.port.stop()

    async def counts(self, incident: Incident) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.counted[incident]:
                await asyncio.sleep(0.01)

    async def port_is_free(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.port._connections.taken or self.port._idle:
                await asyncio.sleep(0.01)


async def remote(request: web.BaseRequest) -> web.Response:
    return web.Response(text=str(request.remote))


async def test_only_a_trusted_proxy_says_who_asks() -> None:
    async with Opened(remote, proxies=Proxies.of("127.0.0.2")) as served:
        head = served.head(
            "X-Forwarded-For: 198.51.100.9", "X-Forwarded-For: 203.0.113.7", "Forwarded: for=192.0.2.1"
        )
        assert (await served.ask(head, address="127.0.0.2")).endswith(b"\r\n203.0.113.7")
        assert (await served.ask(head, address="127.0.0.3")).endswith(b"\r\n127.0.0.3")


async def test_a_proxy_has_more_connections_than_a_client_and_leaves_some_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(port, "MAX_CONNECTIONS", 8)
    begun, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def slow(request: web.BaseRequest) -> web.Response:
        begun.release()
        await go_on.wait()
        return await remote(request)

    opened = Opened(slow, proxies=Proxies.of("127.0.0.2"))
    async with opened as served:

        def ask(client: int, address: str = "127.0.0.2") -> asyncio.Future[bytes]:
            head = served.head(f"X-Forwarded-For: 192.0.2.{client}")
            return asyncio.ensure_future(served.ask(head, address=address))

        asked = [ask(client) for client in (1, 1, 2, 2, 3)]
        for _ in asked:
            await begun.acquire()
        # A client behind it has a share, as it would have without the proxy.
        refused = await ask(1)
        assert refused.startswith(b"HTTP/1.1 429 ")
        assert b'"reason": "too_many_requests"' in refused
        asked.append(ask(3))
        await begun.acquire()
        assert await ask(4) == b"", "six of eight connections are the proxy's"
        assert opened.counted == {Incident.TOO_MANY_CONNECTIONS: 2}
        asked += [ask(9, "127.0.0.1"), ask(9, "127.0.0.1")]
        for _ in range(2):
            await begun.acquire()
        go_on.set()
        clients = [(await each).rpartition(b"\r\n")[2].decode() for each in asked]
    assert clients == [*(f"192.0.2.{client}" for client in (1, 1, 2, 2, 3, 3)), "127.0.0.1", "127.0.0.1"]
    assert opened.port._forwarded.taken == 0


async def large(_: web.BaseRequest) -> web.Response:
    return web.Response(body=bytes(LARGE))


async def small(_: web.BaseRequest) -> web.Response:
    return web.Response(text="here")


async def test_a_client_that_reads_none_of_many_small_answers_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    async def small(_: web.BaseRequest) -> web.Response:
        return web.Response(body=bytes(port.AT_ONCE_BYTES))

    monkeypatch.setattr(port, "WRITE_SECONDS", 0.2)
    opened = Opened(small)
    async with opened as served, served.connection() as (_, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * (LARGE // port.AT_ONCE_BYTES))
        await opened.counts(Incident.UNREAD)
        await opened.port_is_free()


async def test_a_client_that_does_not_read_its_answer_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Opened(large)
    with monkeypatch.context() as impatient:
        impatient.setattr(port, "WRITE_SECONDS", 0.2)
        async with opened as served, served.connection() as (_, writer):
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(served.head())
            await opened.counts(Incident.UNREAD)
            await opened.port_is_free()
    async with Opened(large) as served:
        assert len(await served.ask(served.head())) > LARGE, "one that reads gets it whole"


def test_connections_are_given_back_on_uvloop_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> None:
        opened = Opened(small)
        async with opened as served:
            async with served.connection() as (reader, writer):
                writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                assert (await reader.read(99)).startswith(b"HTTP/1.1 200 ")
            await opened.port_is_free()

    async def do_not_read() -> None:
        opened = Opened(large)
        async with opened as served, served.connection() as (_, writer):
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(served.head())
            await opened.counts(Incident.UNREAD)
            await opened.port_is_free()

    uvloop = pytest.importorskip("uvloop", reason="it is not on every system")
    monkeypatch.setattr(port, "WRITE_SECONDS", 0.2)
    for work in (ask(), do_not_read()):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(work)


async def test_an_error_of_a_handler_is_a_500_that_is_counted_and_logged_without_what_was_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(request: web.BaseRequest) -> web.Response:
        raise RuntimeError(request.headers["Authorization"])

    opened = Opened(fail)
    async with opened as served:
        answer = await served.ask(served.head("Authorization: Bearer geheim"))
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert opened.counted == {Incident.FAILED: 1}
    assert "1 so far: RuntimeError in stream_ldp.http.port, line " in caplog.text, "of this package, it is the last"
    assert "geheim" not in caplog.text + answer.decode()


async def test_a_request_under_way_makes_no_room_and_what_is_too_much_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: web.BaseRequest) -> web.Response:
        begun.set()
        await go_on.wait()
        return web.Response(text="done")

    monkeypatch.setattr(port, "MAX_CONNECTIONS", 1)
    opened = Opened(slow)
    async with opened as served:
        asked = asyncio.ensure_future(served.ask(served.head()))
        await begun.wait()
        assert await served.ask(served.head()) == b""
        assert opened.counted[Incident.TOO_MANY_CONNECTIONS] == 1
        go_on.set()
        assert (await asked).endswith(b"done")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    command = "req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout cert.pem -out cert.crt"
    subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    file = folder / "cert.pem"
    file.write_text(file.read_text() + (folder / "cert.crt").read_text())
    return file


async def test_a_connection_counts_before_its_handshake_which_has_a_limit_of_time(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, own_log: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(port, "MAX_CONNECTIONS", 4)
    monkeypatch.setattr(port, "HANDSHAKE_SECONDS", 0.5)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    opened = Opened(small, tls=tls)
    async with opened as served:
        async with served.connection() as (reader, _):
            assert await served.ask(b"") == b"", "the only place of this address is taken"
            assert await reader.read() == b"", "without a handshake it is closed"
        assert await served.ask(b"no TLS") == b""
        trusting = ssl.create_default_context(cafile=certificate)
        url = f"https://localhost:{served.port}/"
        async with aiohttp.ClientSession() as session, session.get(url, ssl=trusting) as response:
            assert await response.text() == "here"
        await opened.port_is_free()
    assert own_log.text == ""


async def test_a_port_lets_what_is_under_way_end_and_is_free_then() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: web.BaseRequest) -> web.Response:
        begun.set()
        await go_on.wait()
        return web.Response(text="done")

    opened = Opened(slow, stop_seconds=PATIENCE)
    async with opened as served:
        asked = asyncio.ensure_future(served.ask(served.head()))
        await begun.wait()
        stopping = asyncio.ensure_future(opened.port.stop())
        await asyncio.sleep(0)
        go_on.set()
        assert (await asked).endswith(b"done")
        await stopping
        with pytest.raises(ConnectionRefusedError):
            await served.ask(b"")


@pytest.mark.parametrize("turns", range(5))
async def test_a_connection_that_comes_at_a_stop_is_closed(turns: int, recwarn: pytest.WarningsRecorder) -> None:
    async with Opened(small) as served:
        await asyncio.sleep(0)
        knocking = socket.create_connection(("127.0.0.1", served.port))
        gc.collect()
        for _ in range(turns):
            await asyncio.sleep(0)
        recwarn.clear()
        warnings.simplefilter("always", ResourceWarning)
    gc.collect()
    knocking.close()
    assert [str(each.message) for each in recwarn] == []


async def test_a_port_that_cannot_be_opened_says_how_to_choose_another_one() -> None:
    async with Opened(small) as served:
        second = Port(small, host="127.0.0.1", port=served.port, hosts=Hosts(), option="--its-port")
        with pytest.raises(PortError, match=rf"127\.0\.0\.1:{served.port} is in use; choose .* with --its-port"):
            await second.start()
        await second.stop()


async def test_without_descriptors_accepting_waits_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, own_log: pytest.LogCaptureFixture
) -> None:
    accept, failures = socket.socket.accept, [OSError(24, "Too many open files")]

    def fail_once(listener: socket.socket) -> Any:
        if failures:
            raise failures.pop()
        return accept(listener)

    monkeypatch.setattr(socket.socket, "accept", fail_once)
    monkeypatch.setattr(port, "ACCEPT_SECONDS", 0.01)
    async with Opened(small) as served:
        assert (await served.ask(served.head())).startswith(b"HTTP/1.1 200 ")
    assert [each.getMessage() for each in own_log.records] == ["no connection can be accepted: Too many open files"]
