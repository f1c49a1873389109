"""Tests of the gateway over HTTP: what is acknowledged, what is refused and why, and who may come in."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import numpy as np
import pytest
from aiohttp.test_utils import make_mocked_request
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from stream_ldp.client.errors import MissingTopic
from stream_ldp.collection import Collection
from stream_ldp.gateway import intake, server
from stream_ldp.gateway.limiter import Limiter
from stream_ldp.gateway.server import MAX_BYTES, Door, Gateway, Source
from stream_ldp.http import port
from stream_ldp.http.proxies import Proxies
from stream_ldp.http.refusal import Refused
from stream_ldp.http.token import Tokens
from stream_ldp.kafka.connection import BrokerUnreachable
from stream_ldp.kafka.round_log import RoundLog
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.tracing import TRACEPARENT
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.content_type import BATCH, BATCH_TYPE
from tests.client.examples import collection_of
from tests.client.fakes import FakeBroker
from tests.client.items import films
from tests.listening import listening

NOW_MS = 1_800_000_000_000
SETTINGS = Settings.load(brokers="nowhere:1")
GENEROUS = Limiter(rate=1_000, burst=1_000)

Open = Callable[..., Any]


def batch(*, reports: int = 3, time_ms: int = NOW_MS, fingerprint: bytes | None = None) -> bytes:
    rows = np.zeros((reports, 1), dtype=np.uint8)
    found = fingerprint or collection_of().fingerprint
    return wire.encode(wire.Batch(fingerprint=found, batch_id=os.urandom(16), time_ms=time_ms, rows=rows))


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch, broker: FakeBroker) -> FakeBroker:
    async def check(settings: object, **_: object) -> None:
        if broker.error is not None:
            raise BrokerUnreachable("nowhere:1 does not answer")

    monkeypatch.setattr(server, "check_connection", check)
    return broker


@asynccontextmanager
async def opened(
    door: Door | None = None, *, collection: Collection | None = None, proxies: Proxies | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    gateway = Gateway(
        [Source(collection=collection or collection_of(), text="collection: care-survey # as written")],
        settings=SETTINGS,
        door=door or Door(limiter=GENEROUS),
        now_ms=lambda: NOW_MS,
    )
    async with listening(gateway, proxies=proxies) as url, aiohttp.ClientSession(url) as session:
        yield session


async def post(
    session: aiohttp.ClientSession, body: bytes, *, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    headers = {"Content-Type": BATCH_TYPE} | (headers or {})
    async with session.post("/v1/collections/care-survey/batches", data=body, headers=headers) as response:
        return response.status, await response.json()


async def sample(session: aiohttp.ClientSession, line: str) -> float:
    async with session.get("/metrics") as response:
        (found,) = [each for each in (await response.text()).splitlines() if each.startswith(line)]
    return float(found.rpartition(" ")[2])


async def test_a_batch_reaches_the_topic_byte_for_byte_before_it_is_acknowledged(reachable: FakeBroker) -> None:
    body = batch()
    async with opened() as session:
        assert await post(session, body) == (200, {"reports": 3})
        assert await sample(session, 'stream_ldp_gateway_reports_total{collection="care-survey"}') == 3
    ((topic, arguments),) = reachable.sent
    assert topic == "stream-ldp.care-survey.reports"
    assert arguments["value"] == body
    assert arguments["key"] == body[32:48], "the batch id"
    assert arguments["timestamp_ms"] == NOW_MS
    assert tuple(arguments["headers"]) == BATCH, "nothing is traced"


async def test_a_batch_begins_its_own_trace(reachable: FakeBroker, spans: InMemorySpanExporter) -> None:
    request = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with opened() as session:
        for _ in range(2):
            assert (await post(session, batch(), headers={TRACEPARENT: request}))[0] == 200
    sent = [dict(arguments["headers"])[TRACEPARENT].decode() for _, arguments in reachable.sent]
    assert len({each.split("-")[1] for each in [request, *sent]}) == 3
    assert [each.name for each in spans.get_finished_spans()] == ["send", "send"]
    for each in spans.get_finished_spans():
        assert dict(each.attributes or {}) == {"collection": "care-survey", "reports": 3}


async def test_nothing_is_acknowledged_that_the_brokers_do_not_have(
    reachable: FakeBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(intake, "PATIENCE", 0.05)
    reachable.holding = True
    async with opened() as session:
        status, answer = await post(session, batch())
        assert (status, answer["reason"]) == (503, "brokers_unavailable")
        assert "send the same bytes again" in answer["detail"]
        assert (await post(session, batch()))[0] == 503
        said = "the brokers nowhere:1 do not take batches: no answer within "
        assert caplog.text.count(said) == 1, "the log says why, and not for each batch"


async def test_what_a_worker_would_refuse_is_refused_with_its_reason_and_not_sent(reachable: FakeBroker) -> None:
    bodies = {
        "too_short": b"",
        "bad_magic": b"x" * 60,
        "bad_checksum": batch()[:-1] + b"\x01",
        "unknown_fingerprint": batch(fingerprint=bytes(16)),
        "future_time": batch(time_ms=NOW_MS + 10**9),
    }
    async with opened() as session:
        for reason, body in bodies.items():
            status, answer = await post(session, body)
            assert (status, answer["reason"]) == (400, reason)
            line = f'stream_ldp_gateway_refused_total{{collection="care-survey",reason="{reason}"}}'
            assert await sample(session, line) == 1
    assert reachable.sent == []


async def test_a_batch_that_the_topic_does_not_take_is_not_asked_for_again(reachable: FakeBroker) -> None:
    async with opened() as session:
        reachable.error = MessageSizeTooLargeError()
        status, answer = await post(session, batch())
        assert (status, answer["reason"]) == (413, "too_large")
        async with session.get("/readyz") as response:
            assert response.status == 200, "the brokers are well"


async def test_a_refusal_to_tell_the_rounds_is_counted(
    reachable: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connect(rounds: object) -> None:
        return

    async def fail(rounds: object, since_ms: int) -> None:
        raise KafkaConnectionError

    for name, replaced in {"start": connect, "stop": connect, "since": fail}.items():
        monkeypatch.setattr(RoundLog, name, replaced)
    reachable.topics.add("stream-ldp.films.reports")
    async with opened(collection=films()) as session:
        async with session.get("/v1/collections/films/rounds") as response:
            assert (response.status, (await response.json())["reason"]) == (503, "brokers_unavailable")
        line = 'stream_ldp_gateway_refused_total{collection="films",reason="brokers_unavailable"}'
        assert await sample(session, line) == 1


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_beyond_the_limit_is_refused_whether_or_not_it_announces_its_length(
    reachable: FakeBroker, chunked: bool
) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield bytes(100_000)

    async with opened() as session:
        status, answer = await post(session, parts() if chunked else bytes(MAX_BYTES + 1))  # type: ignore[arg-type]
    assert (status, answer["reason"]) == (413, "too_large")
    assert reachable.sent == []


async def test_without_one_of_the_tokens_nobody_comes_in(reachable: FakeBroker) -> None:
    door = Door(limiter=GENEROUS, tokens=Tokens.of("right", "other"))
    async with opened(door) as session:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic right"},
            {"Authorization": ""},
        ):
            status, answer = await post(session, batch(), headers=headers)
            assert (status, answer["reason"]) == (401, "unauthorized")
        status, _ = await post(session, batch(), headers={"Authorization": "Bearer right"})
        assert status == 200
    assert len(reachable.sent) == 1


async def test_log_labels_and_records_have_nothing_of_who_reported(
    reachable: FakeBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is logged at DEBUG, shown as a metric, or stored: no address, no token, no clock but the batch's."""
    token, address, time_ms = "sesame-7f3c9a", "203.0.113.9", NOW_MS - 1_234_000
    door = Door(limiter=GENEROUS, tokens=Tokens.of(token))
    headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": address, "User-Agent": "ada/1"}
    with caplog.at_level(logging.DEBUG):
        async with opened(door, proxies=Proxies.of("127.0.0.1")) as session:
            assert (await post(session, batch(time_ms=time_ms), headers=headers))[0] == 200
            assert (await post(session, b"no batch", headers=headers))[0] == 400
            assert (await post(session, batch(), headers=headers | {"Authorization": f"Bearer {token}x"}))[0] == 401
            async with session.get("/metrics", headers=headers) as response:
                shown = await response.text()
    ours = [
        record.getMessage() for record in caplog.records if record.name.partition(".")[0] in ("stream_ldp", "aiohttp")
    ]
    for told in (address, token, token[-4:], "ada/1"):
        assert told not in shown
        assert not [message for message in ours if told in message]
    ((_, arguments),) = reachable.sent
    assert arguments["timestamp_ms"] == time_ms
    assert sorted(arguments.keys() - {"partition"}) == ["headers", "key", "timestamp_ms", "value"]
    assert tuple(arguments["headers"]) == BATCH


async def test_bytes_that_are_no_text_are_refused_like_any_other_token_and_logged_nowhere(
    reachable: FakeBroker, own_log: pytest.LogCaptureFixture
) -> None:
    async with opened(Door(limiter=GENEROUS, tokens=Tokens.of("right"))) as session:
        head = b"POST /v1/collections/care-survey/batches HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        address = session._base_url
        assert address is not None
        reader, writer = await asyncio.open_connection(address.host, address.port)
        # The client of aiohttp sends no such header.
        writer.write(head + b"Authorization: Bearer \xff\r\nContent-Length: 0\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 401 ")
        writer.close()
    assert not own_log.records, "a log of the failure would have the client's address"


async def test_metrics_are_served_whatever_a_client_says_it_accepts(reachable: FakeBroker) -> None:
    async with opened() as session:
        accept = {"Accept": "application/openmetrics-text; version=newest"}
        async with session.get("/metrics", headers=accept) as response:
            assert response.status == 200
            assert "stream_ldp_gateway_batches_total" in await response.text()


async def test_a_client_that_sends_too_much_is_reported_when_to_try_again(reachable: FakeBroker) -> None:
    async with opened(Door(limiter=Limiter(rate=0.01, burst=1))) as session:
        assert (await post(session, batch()))[0] == 200
        headers = {"Content-Type": BATCH_TYPE}
        async with session.post("/v1/collections/care-survey/batches", data=batch(), headers=headers) as response:
            assert response.status == 429
            assert 90 <= int(response.headers["Retry-After"]) <= 101


async def test_clients_behind_a_trusted_proxy_have_an_allowance_each(reachable: FakeBroker) -> None:
    door = Door(limiter=Limiter(rate=0.01, burst=1))
    async with opened(door, proxies=Proxies.of("127.0.0.1")) as session:
        statuses = [
            (await post(session, batch(), headers={"X-Forwarded-For": said}))[0]
            for said in ("192.0.2.1", "192.0.2.2", "192.0.2.9, 192.0.2.1", "2001:db8::1", "2001:db8::2")
        ]
    assert statuses == [200, 200, 429, 200, 429]
    async with opened(Door(limiter=Limiter(rate=0.01, burst=1))) as session:
        statuses = [
            (await post(session, batch(), headers={"X-Forwarded-For": said}))[0]
            for said in ("192.0.2.1", "192.0.2.2")
        ]
    assert statuses == [200, 429], "anybody can write the header"


async def test_an_unknown_collection_is_reported_which_there_are(reachable: FakeBroker) -> None:
    async with opened() as session, session.post("/v1/collections/films/batches", data=b"") as response:
        assert response.status == 404
        assert (await response.json())["reason"] == "unknown_collection"


async def test_every_refusal_is_json_a_wrong_path_and_a_wrong_method_too(reachable: FakeBroker) -> None:
    async with opened() as session:
        async with session.get("/nothing") as response:
            assert (response.status, (await response.json())["reason"]) == (404, "not_found")
        async with session.get("/v1/collections/care-survey/batches") as response:
            assert (response.status, (await response.json())["reason"]) == (405, "method_not_allowed")


async def test_collections_are_served_as_json_for_clients_without_a_reader_of_yaml(reachable: FakeBroker) -> None:
    async with opened() as session:
        async with session.get("/v1/collections/care-survey/document") as response:
            assert response.status == 200
            assert await response.json() == collection_of().document
        async with session.get("/v1/collections/other/document") as response:
            assert (response.status, (await response.json())["reason"]) == (404, "unknown_collection")


async def test_a_gateway_serves_the_text_whose_digest_is_the_fingerprint(reachable: FakeBroker) -> None:
    async with opened() as session:
        async with session.get("/v1/collections/care-survey/meaning") as response:
            assert (response.status, response.content_type) == (200, "application/json")
            text = await response.read()
            assert hashlib.sha256(text).digest()[:16] == collection_of().fingerprint
            assert json.loads(text)[0] == "care-survey"
        async with session.get("/v1/collections/other/meaning") as response:
            assert (response.status, (await response.json())["reason"]) == (404, "unknown_collection")


async def test_collections_are_served_as_their_files_are_written(reachable: FakeBroker) -> None:
    async with opened() as session:
        async with session.get("/v1/collections") as response:
            fingerprint = collection_of().fingerprint.hex()
            known = [{"name": "care-survey", "kind": "records", "fingerprint": fingerprint}]
            assert await response.json() == {"collections": known}
        async with session.get("/v1/collections/care-survey") as response:
            assert await response.text() == "collection: care-survey # as written"
        async with session.get("/v1/collections/care-survey/rounds") as response:
            assert await response.json() == {"rounds": []}


async def test_scripts_of_known_pages_may_report_and_those_of_others_are_refused(reachable: FakeBroker) -> None:
    door = Door(limiter=GENEROUS, origins=frozenset({"https://good.example"}))
    async with opened(door) as session:
        headers = {"Origin": "https://good.example", "Content-Type": BATCH_TYPE}
        async with session.options("/v1/collections/care-survey/batches") as response:
            assert response.status == 405, "no browser asks"
        evil = headers | {"Host": "evil.example"}
        async with session.options("/v1/collections/care-survey/batches", headers=evil) as response:
            assert (response.status, (await response.json())["reason"]) == (421, "unknown_host")
        async with session.options("/v1/collections/care-survey/batches", headers=headers) as response:
            assert response.status == 204
            assert response.headers["Access-Control-Allow-Origin"] == "https://good.example"
        async with session.post("/v1/collections/care-survey/batches", data=b"", headers=headers) as response:
            assert response.status == 400
            assert response.headers["Access-Control-Allow-Origin"] == "https://good.example"
            assert response.headers["Access-Control-Expose-Headers"] == "Retry-After"
        for origin in ("https://bad.example", "null", "https://good.example.bad.example"):
            for method, path in (("OPTIONS", "batches"), ("POST", "batches"), ("GET", "document")):
                headers = {"Origin": origin, "Content-Type": BATCH_TYPE}
                place = f"/v1/collections/care-survey/{path}"
                async with session.request(method, place, data=batch(), headers=headers) as response:
                    assert (response.status, (await response.json())["reason"]) == (403, "unknown_origin")
                    assert "Access-Control-Allow-Origin" not in response.headers
        line = 'stream_ldp_gateway_refused_total{collection="care-survey",reason="unknown_origin"}'
        assert await sample(session, line) == 6, "those that ask whether they may are no requests to a collection"
    assert reachable.sent == []


async def test_a_gateway_that_names_no_origin_takes_nothing_from_scripts(reachable: FakeBroker) -> None:
    async with opened() as session:
        status, answer = await post(session, batch(), headers={"Origin": "http://attacker.example"})
        assert (status, answer["reason"]) == (403, "unknown_origin")
    assert reachable.sent == []


async def test_all_origins_may_be_let_in(reachable: FakeBroker) -> None:
    async with opened(Door(limiter=GENEROUS, origins=frozenset({"*"}))) as session:
        assert (await post(session, batch(), headers={"Origin": "http://any.example"}))[0] == 200


@pytest.mark.parametrize(
    "kind",
    [
        # What scripts of any page may send without a question.
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "text/plain;application/vnd.sldp.batch",
        "application/octet-stream",
        "application/vnd.sldp.batches",
        "",
    ],
)
async def test_a_body_of_another_type_than_that_of_batches_is_refused(reachable: FakeBroker, kind: str) -> None:
    async with opened() as session:
        status, answer = await post(session, batch(), headers={"Content-Type": kind})
        assert (status, answer["reason"]) == (415, "wrong_content_type")
    assert reachable.sent == []


async def test_the_type_of_a_batch_may_have_its_version_and_any_case(reachable: FakeBroker) -> None:
    async with opened() as session:
        for kind in (BATCH[0][1].decode(), "Application/VND.sldp.Batch ; v=1"):
            assert (await post(session, batch(), headers={"Content-Type": kind}))[0] == 200


async def test_a_gateway_is_not_ready_while_no_broker_answers(reachable: FakeBroker) -> None:
    settings = Settings.load(brokers="127.0.0.1:1")
    gateway = Gateway(
        [Source(collection=collection_of(), text="")],
        settings=settings,
        door=Door(limiter=GENEROUS),
        now_ms=lambda: NOW_MS,
    )
    async with listening(gateway) as url, aiohttp.ClientSession(url) as session:
        async with session.get("/readyz") as response:
            assert (response.status, await response.json()) == (200, {"problems": []})
        watching = asyncio.create_task(gateway.watch_brokers())
        while (response := await session.get("/readyz")).status == 200:
            await asyncio.sleep(0.01)
        (problem,) = (await response.json())["problems"]
        assert problem.startswith("no broker has answered for 0 s: 127.0.0.1:1: ")
        async with session.get("/livez") as response:
            assert response.status == 200, "a restart would not help"
        watching.cancel()


async def test_no_more_batches_are_held_than_memory_allows(reachable: FakeBroker) -> None:
    reachable.holding = True
    async with opened() as session:
        waiting = [asyncio.create_task(post(session, batch())) for _ in range(90)]
        while len(reachable.sent) < 90:
            await asyncio.sleep(0.01)
        assert await sample(session, "stream_ldp_gateway_open_requests") == 90
        reachable.release()
        assert {status for status, _ in await asyncio.gather(*waiting)} == {200}


async def test_beyond_that_a_client_is_reported_to_come_back(
    reachable: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SHARE_UNDER_WAY", 100)
    reachable.holding = True
    async with opened() as session:
        first = asyncio.create_task(post(session, batch()))
        while not reachable.sent:
            await asyncio.sleep(0.01)
        status, answer = await post(session, batch())
        assert (status, answer["reason"]) == (503, "busy")
        reachable.release()
        assert (await first)[0] == 200


HEAD = (
    b"POST /v1/collections/care-survey/batches HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/vnd.sldp.batch\r\nConnection: close\r\n"
)


@asynccontextmanager
async def upload(
    session: aiohttp.ClientSession, begin: bytes, *, address: str = "127.0.0.1", head: bytes = HEAD
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Begin to send a batch, and do not go on; leaving the block cuts the connection."""
    gateway = session._base_url
    assert gateway is not None
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection(gateway.host, gateway.port, local_addr=(address, 0))
        writer.write(head + begin)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()


async def test_uploads_that_do_not_go_on_shut_nobody_out(reachable: FakeBroker) -> None:
    async with opened() as session, AsyncExitStack() as held:
        for place in range(256):
            address = f"127.0.1.{1 + place % 8}"
            await held.enter_async_context(upload(session, b"Content-Length: 100\r\n\r\nx", address=address))
        assert await post(session, batch()) == (200, {"reports": 3})


async def test_what_one_client_has_under_way_leaves_room_for_others(
    reachable: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = batch()
    monkeypatch.setattr(server, "SHARE_UNDER_WAY", len(body))
    monkeypatch.setattr(server, "MAX_UNDER_WAY", 2 * len(body))
    reachable.holding = True
    begin = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    async with opened() as session, upload(session, begin, address="127.0.0.2") as (first, _):
        while not reachable.sent:
            await asyncio.sleep(0.01)
        async with upload(session, begin, address="127.0.0.2") as (second, _):
            assert (await second.read()).startswith(b"HTTP/1.1 503 ")
        other = asyncio.create_task(post(session, batch()))
        while len(reachable.sent) < 2:
            await asyncio.sleep(0.01)
        reachable.release()
        assert (await first.read()).startswith(b"HTTP/1.1 200 ")
        assert (await other)[0] == 200


async def test_a_batch_that_does_not_come_is_refused_in_time(
    reachable: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "BODY_SECONDS", 0.2)
    monkeypatch.setattr(port, "LINGER_SECONDS", 0.1)
    async with opened() as session, upload(session, b"Content-Length: 100\r\n\r\nx") as (reader, _):
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b'"reason": "slow_body"' in answer
        line = 'stream_ldp_gateway_refused_total{collection="care-survey",reason="slow_body"}'
        assert await sample(session, line) == 1


async def test_a_body_that_is_framed_wrongly_is_no_batch(
    reachable: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "BODY_SECONDS", 0.2)
    begin = b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
    async with opened() as session, upload(session, begin) as (reader, writer):
        await asyncio.sleep(0.05)  # So that what is wrong comes while the body is read.
        writer.write(b"no chunk\r\n")
        assert (await reader.read()).split()[1] in {b"400", b"408"}
    assert reachable.sent == []


async def test_requests_that_are_sent_ahead_are_answered_in_their_order(reachable: FakeBroker) -> None:
    good, bad, last = batch(), b"x" * 60, batch(reports=2)
    more = HEAD.replace(b"Connection: close\r\n", b"")
    begun = [b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in (good, bad, last)]
    ahead = begun[0] + more + begun[1] + HEAD + begun[2]
    async with opened() as session, upload(session, ahead, head=more) as (reader, _):
        answers = (await reader.read()).split(b"HTTP/1.1 ")[1:]
    assert [each.split()[0] for each in answers] == [b"200", b"400", b"200"]
    first, _, third = answers
    assert first.endswith(b'{"reports": 3}')
    assert third.endswith(b'{"reports": 2}')
    assert [arguments["value"] for _, arguments in reachable.sent] == [good, last]


async def test_a_client_that_goes_away_in_the_middle_leaves_neither_bytes_nor_a_line(
    reachable: FakeBroker, monkeypatch: pytest.MonkeyPatch, own_log: pytest.LogCaptureFixture
) -> None:
    body = batch()
    monkeypatch.setattr(server, "SHARE_UNDER_WAY", len(body))
    async with opened() as session:
        for _ in range(3):
            async with upload(session, b"Content-Length: 100\r\n\r\nx"):
                await asyncio.sleep(0.02)
        async with asyncio.timeout(20):
            while (await post(session, body))[0] == 503:
                await asyncio.sleep(0.01)
        assert await sample(session, 'stream_ldp_gateway_incidents_total{incident="failed"}') == 0
    assert own_log.text == ""


async def test_addresses_of_one_ipv6_customer_share_an_allowance(reachable: FakeBroker) -> None:
    gateway = Gateway(
        [Source(collection=collection_of(), text="")],
        settings=SETTINGS,
        door=Door(limiter=Limiter(rate=0.001, burst=1)),
        now_ms=lambda: NOW_MS,
    )

    def knock(address: str) -> None:
        headers = {"Content-Type": BATCH_TYPE}
        gateway._let_in(make_mocked_request("POST", "/", headers=headers).clone(remote=address))

    knock("2001:db8::1")
    with pytest.raises(Refused, match="fewer"):
        knock("2001:db8::2")
    knock("2001:db8:0:1::1")


async def test_a_collection_without_its_topic_is_reported_at_the_start(reachable: FakeBroker) -> None:
    reachable.topics = set()
    with pytest.raises(MissingTopic, match=r"care-survey\.reports"):
        async with opened():
            pass
