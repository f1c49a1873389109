"""The OpenAPI documents have every route of the three ports, and what these answer is what the documents say."""

import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from stream_ldp.gateway import server
from stream_ldp.gateway.limiter import Limiter
from stream_ldp.gateway.server import MAX_BYTES, Door, Gateway, Source
from stream_ldp.http.routes import Routes
from stream_ldp.http.token import Tokens
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import parse_collection
from stream_ldp.page import server as page_server
from stream_ldp.page.history import History
from stream_ldp.page.server import PageServer
from stream_ldp.pipeline.content_type import BATCH_TYPE
from stream_ldp.schemas import openapi
from stream_ldp.service.admin import AdminServer
from stream_ldp.service.metrics import Metrics
from stream_ldp.testing import kafka_in_memory
from tests.in_memory import START_MS, rank_films
from tests.listening import listening
from tests.schemas.recorded import COLLECTIONS

FILMS = parse_collection(COLLECTIONS["sets"])
DOCUMENTS = [openapi.admin_port, openapi.gateway, openapi.page]


@pytest.fixture(autouse=True)
def _reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(*_: object, **__: object) -> None:
        pass

    monkeypatch.setattr(server, "check_connection", check)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_keeps_the_rules_of_openapi(document: Callable[[], dict[str, Any]]) -> None:
    OpenAPIV31SpecValidator(document()).validate()


def the_gateway(*tokens: str, rate: float = 1_000) -> Gateway:
    door = Door(limiter=Limiter(rate=rate, burst=1_000 if rate > 1 else 1), tokens=Tokens.of(*tokens))
    sources = [Source(collection=FILMS, text=COLLECTIONS["sets"])]
    return Gateway(sources, settings=Settings(brokers="memory:1"), door=door, now_ms=lambda: START_MS + 200_000)


def the_admin_port(token: str | None = None, problems: tuple[str, ...] = ()) -> AdminServer:
    health: Any = SimpleNamespace(live=lambda: problems, ready=lambda: problems)
    return AdminServer(host="127.0.0.1", port=0, health=health, metrics=Metrics(["films"]), token=token)


def routes(known: Routes) -> set[tuple[str, str]]:
    return {(method.lower(), path) for method, path in known.known}


def operations(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (method, path) for path, item in document["paths"].items() for method in item if method in ("get", "post")
    }


def test_every_route_is_in_its_document_and_no_other() -> None:
    page = PageServer(History({}), host="127.0.0.1", port=0)
    assert routes(the_gateway().routes) == operations(openapi.gateway())
    assert routes(the_admin_port().routes) == operations(openapi.admin_port())
    assert routes(page.routes) == operations(openapi.page())


async def check(document: dict[str, Any], response: aiohttp.ClientResponse, path: str, method: str = "get") -> Any:
    """Hold an answer against a document, and return its content."""
    told = document["paths"][path][method]["responses"][str(response.status)]
    assert response.content_type in told["content"], (path, response.status)
    for name, header in told.get("headers", {}).items():
        value = response.headers[name]
        whole = header["schema"].get("type") == "integer"
        Draft202012Validator(header["schema"]).validate(int(value) if whole else value)
    schema = told["content"][response.content_type]["schema"]
    content = await (response.json() if response.content_type == "application/json" else response.text())
    Draft202012Validator({**schema, "components": document["components"]}).validate(content)
    return content


async def test_what_the_gateway_answers_is_what_its_document_says() -> None:
    document, seen = openapi.gateway(), set()
    with kafka_in_memory(FILMS, now_ms=START_MS) as kafka:
        rank_films(kafka)
        batch = kafka.batches("films")[0]
        for gateway in (the_gateway(), the_gateway(rate=0.001), the_gateway("known")):
            async with listening(gateway) as url, aiohttp.ClientSession(url) as client:
                for path, item in document["paths"].items():
                    for name in ("films", "unknown") if "{name}" in path else ("",):
                        place = path.replace("{name}", name)
                        if "get" in item:
                            async with client.get(place) as response:
                                content = await check(document, response, path)
                                seen.add((path, response.status))
                                if path.endswith("/rounds") and response.status == 200:
                                    assert [each["phase"] for each in content["rounds"]] == [2]
                        else:
                            for body, kind, origin in (
                                (batch, BATCH_TYPE, {}),
                                (b"nothing", BATCH_TYPE, {}),
                                (b" " * (MAX_BYTES + 1), BATCH_TYPE, {}),
                                (batch, "text/plain", {}),
                                (batch, BATCH_TYPE, {"Origin": "http://attacker.example"}),
                            ):
                                headers = {"Content-Type": kind, **origin}
                                async with client.post(place, data=body, headers=headers) as response:
                                    await check(document, response, path, "post")
                                    seen.add((path, response.status))
    told = {
        (path, int(status))
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
        for status in operation["responses"]
    }
    # What is left is how a gateway answers whose brokers are gone, or whose client is slow; see tests/gateway.
    assert {status for _, status in told - seen} == {408, 503}


@pytest.mark.parametrize(("token", "problems"), [(None, ()), (None, ("it does nothing",)), ("known", ("secret",))])
async def test_what_the_admin_port_answers_is_what_its_document_says(
    token: str | None, problems: tuple[str, ...]
) -> None:
    document = openapi.admin_port()
    server = the_admin_port(token, problems)
    await server.start()
    async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as client:
        for path in document["paths"]:
            async with client.get(path) as response:
                if path == "/metrics":
                    assert response.status == (200 if token is None else 401)
                else:
                    assert response.status == (503 if problems else 200)
                await check(document, response, path)
    await server.stop()


async def test_what_the_page_answers_is_what_its_document_says(monkeypatch: pytest.MonkeyPatch) -> None:
    document = openapi.page()
    page = PageServer(History({"films": {"kind": "sets", "window_ms": 60_000}}), host="127.0.0.1", port=0)
    await page.start()
    async with aiohttp.ClientSession(page.url) as client:
        for path in document["paths"]:
            async with client.get(path.replace("{name}", "films")) as response:
                if path != "/events":
                    await check(document, response, path)
                    continue
                assert response.content_type in document["paths"][path]["get"]["responses"]["200"]["content"]
                event = (await response.content.readuntil(b"\n\n")).decode()
                name, data = re.fullmatch(r"event: (\w+)\ndata: (.*)\n\n", event).groups()  # type: ignore[union-attr]
                schema = document["components"]["schemas"]["Snapshot"]
                Draft202012Validator(schema).validate(json.loads(data))
                assert name == "snapshot"
        monkeypatch.setattr(page_server, "READERS", 0)
        async with client.get("/events") as response:
            assert response.status == 503
            await check(document, response, "/events")
    await page.stop()
