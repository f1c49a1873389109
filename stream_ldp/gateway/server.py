"""Serve the gateway: batches in, collections and rounds out, over HTTP.

| request | answer |
|---|---|
| GET /v1/collections | {"collections": [{"name", "kind", "fingerprint"}]} |
| GET /v1/collections/NAME | the collection's file, YAML |
| GET /v1/collections/NAME/document | the same as JSON, complete: durations in milliseconds, bins with their values |
| GET /v1/collections/NAME/meaning | the text behind its fingerprint, to the byte; see docs/wire.md |
| GET /v1/collections/NAME/rounds | {"rounds": [...]}: those written within the last two windows, as published |
| POST /v1/collections/NAME/batches | {"reports": N}, once the brokers have the batch |
| GET /metrics, /livez, /readyz | as of a worker |

A refusal is {"reason": ..., "detail": ...}. The reason of status 400 is one of those of dead letters.
"""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import hdrs, web
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from stream_ldp.client.errors import require_topic
from stream_ldp.client.registration import RegistrationCheck
from stream_ldp.gateway.intake import PATIENCE, Intake
from stream_ldp.gateway.metrics import GatewayMetrics
from stream_ldp.http.exposition import exposition
from stream_ldp.http.health import health
from stream_ldp.http.network import network_of
from stream_ldp.http.origins import origin_of
from stream_ldp.http.quota import Quota
from stream_ldp.http.refusal import Refused
from stream_ldp.http.routes import Routes, name_of
from stream_ldp.http.token import Tokens
from stream_ldp.kafka.broker_watch import BrokerWatch
from stream_ldp.kafka.connection import check_connection, explain
from stream_ldp.kafka.producer import Producer
from stream_ldp.kafka.round_log import RoundLog
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.content_type import BATCH_TYPE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.gateway.limiter import Limiter
    from stream_ldp.http.incidents import Incident
    from stream_ldp.kafka.settings import Settings

log = logging.getLogger(__name__)

#: Bytes of the largest batch: as much as brokers accept of a record by default, less the key and the record's frame.
MAX_BYTES = 2**20 - 1024

#: Seconds after which a client may try again when the brokers do not answer.
RETRY_SECONDS = 5

#: Seconds after which the log says again that brokers take no batches, or do not show rounds.
SAY_SECONDS = 60.0

#: Seconds that a client may take to send a batch: the largest one, at 35 kB a second.
BODY_SECONDS = 30.0

#: Bytes of batches that may be under way at once, as far as they have come, and bytes of them of one client. While a
#: batch waits for the brokers, its bytes are in memory twice.
MAX_UNDER_WAY = 128 * 2**20
SHARE_UNDER_WAY = MAX_UNDER_WAY // 4

#: Its name is one that aiohttp does not have to read.
_JSON = {hdrs.CONTENT_TYPE: "application/json; charset=utf-8"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A collection that the gateway takes batches for, and the text of its file."""

    collection: Collection
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Door:
    """Requirements for clients of the gateway.

    limiter: how many requests each client may make.
    tokens: those of which a client must have one.
    origins: origins of web pages whose scripts may use the gateway, as `origin_of` writes them; "*" for all.
    """

    limiter: Limiter
    tokens: Tokens = field(default_factory=Tokens)
    origins: frozenset[str] = frozenset()


class Gateway:
    """A gateway holds nothing: any number of them may run side by side, and each may be killed at any time."""

    def __init__(
        self, sources: Sequence[Source], *, settings: Settings, door: Door, now_ms: Callable[[], int]
    ) -> None:
        """Prepare for some collections.

        now_ms: the time of day, in milliseconds since 1970-01-01 UTC.
        """
        self._sources = {each.collection.name: each for each in sources}
        self._settings = settings
        self._door = door
        self._now_ms = now_ms
        self._metrics = GatewayMetrics(self._sources)
        # Batches of many clients pass through one producer; without idempotence none of them can be distinguished.
        self._producer = Producer(settings, idempotent=False, patience=PATIENCE)
        self._watch = BrokerWatch(settings, endless=True)
        names = settings.topic_names
        self._rounds: dict[str, RoundLog] = {}
        for name, source in self._sources.items():
            if (rounds := kind_of(source.collection).rounds) is not None:
                topic = names.rounds(name)
                self._rounds[name] = RoundLog(source.collection, rounds, topic=topic, settings=settings)
        self._topics = {name: names.reports(name) for name in self._sources}
        self._intakes = {
            name: Intake(
                source.collection,
                topic=self._topics[name],
                producer=self._producer,
                rounds=self._rounds.get(name),
                metrics=self._metrics,
                now_ms=now_ms,
            )
            for name, source in self._sources.items()
        }
        self._under_way = Quota(most=MAX_UNDER_WAY, share=SHARE_UNDER_WAY)
        self._said_at = -math.inf
        self._state: str | None = "starting"

        self.routes = Routes(
            {
                ("POST", "/v1/collections/{name}/batches"): self._take,
                ("GET", "/v1/collections"): self._list,
                ("GET", "/v1/collections/{name}"): self._file,
                ("GET", "/v1/collections/{name}/document"): self._document,
                ("GET", "/v1/collections/{name}/meaning"): self._meaning,
                ("GET", "/v1/collections/{name}/rounds"): self._asked,
                ("GET", "/metrics"): self._show_metrics,
                ("GET", "/livez"): self._livez,
                ("GET", "/readyz"): self._readyz,
            }
        )

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Connect to the brokers, and disconnect at the end of the block.

        It raises what `Reporter` raises for a collection whose topic is missing or which is another one.
        """
        await check_connection(self._settings)
        try:
            self._watch.begin()
            await self._producer.start()
            existing = await self._producer.topics()
            for name, source in self._sources.items():
                require_topic(self._topics[name], existing, self._settings)
                await RegistrationCheck(source.collection, settings=self._settings).check()
            for rounds in self._rounds.values():
                await rounds.start()
            self._state = None
            yield
        finally:
            self._state = "stopping"
            for rounds in self._rounds.values():
                await rounds.stop()
            await self._producer.abandon()

    async def watch_brokers(self) -> None:
        """Watch the brokers for as long as they are those of one cluster; see `BrokerWatch.run`.

        Raises:
            AccessRefused: they are not.
        """
        await self._watch.run()

    def note(self, incident: Incident) -> None:
        """Count what has gone wrong at the port that serves this gateway."""
        self._metrics.incidents.labels(incident).inc()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request.

        Raises:
            Refused: the gateway does not do what is asked, or not for scripts of that page.
        """
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None:
            return await self.routes.answer(request)
        # Without this, a page of anyone could report: browsers only keep the answer from its scripts.
        if not self._admits(origin):
            raise Refused(403, "unknown_origin", "scripts of that page may not use this gateway: see --origin")
        if request.method == "OPTIONS":  # Browsers ask with it before they send.
            return web.Response(status=204, headers=_allowed(origin))
        response = await self.routes.answer(request)
        response.headers.update(_allowed(origin))
        return response

    def refuse(self, request: web.BaseRequest, refused: Refused) -> web.Response:
        """Count a refusal, and return the answer, which scripts of known pages may read."""
        # What is not the name of a collection is no label: anyone could make ever more of them. Neither is what asks
        # for no route of it.
        name, asked = name_of(request), request.method != "OPTIONS" and refused.status not in (404, 405)
        if asked and name in self._sources:
            self._metrics.refused.labels(name, refused.reason).inc()
        response = refused.response()
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is not None and self._admits(origin):
            response.headers.update(_allowed(origin))
        return response

    def _admits(self, origin: str) -> bool:
        return not self._door.origins.isdisjoint((origin_of(origin), "*"))

    def _source(self, name: str) -> Source:
        if (source := self._sources.get(name)) is None:
            known = ", ".join(self._sources)
            raise Refused(404, "unknown_collection", f"there is no collection {name!r} here; there are {known}")
        return source

    def _let_in(self, request: web.BaseRequest) -> str:
        """Check a request before any of its body is read, and return what stands for its client."""
        tokens = self._door.tokens
        client = tokens.brought(request) if tokens.digests else network_of(request.remote)
        if client is None:
            raise Refused(401, "unauthorized", "a known bearer token is needed")
        if wait := self._door.limiter.wait(client, now=asyncio.get_running_loop().time()):
            raise Refused(429, "too_many_requests", "send fewer, larger batches", retry_after=wait)
        # Scripts of any page may send a body of another type without being asked whether they may.
        if request.headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0].strip().lower() != BATCH_TYPE:
            raise Refused(415, "wrong_content_type", f"the Content-Type of a batch is {BATCH_TYPE}")
        if (request.content_length or 0) > MAX_BYTES:
            raise _too_large(f"{request.content_length} bytes")
        return client

    async def _take(self, request: web.BaseRequest, name: str) -> web.Response:
        self._source(name)
        client = self._let_in(request)
        body = await self._body(request, client)
        try:
            reports = await self._deliver(name, body)
        finally:
            self._under_way.give_back(client, len(body))
        return web.Response(body=b'{"reports": %d}' % reports, headers=_JSON)

    async def _body(self, request: web.BaseRequest, client: str) -> bytes:
        """Read a body, whose bytes are under way as they come: to begin one takes nothing from others."""
        content = request.content
        if content.is_eof():  # As a rule it has come with the head.
            whole = content.read_nowait()
            self._require_room(0, whole, client)
            return whole
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in content.iter_any():
                    self._require_room(len(body), part, client)
                    body += part
        except BaseException as error:
            self._under_way.give_back(client, len(body))
            if isinstance(error, TimeoutError):
                detail = f"the body did not come within {BODY_SECONDS:.0f} seconds"
                raise Refused(408, "slow_body", detail) from error
            raise
        return bytes(body)

    def _require_room(self, before: int, part: bytes, client: str) -> None:
        """Count more bytes of a body as under way, after so many."""
        if before + len(part) > MAX_BYTES:
            raise _too_large("more")
        if not self._under_way.take(client, len(part)):
            raise Refused(503, "busy", "too many batches are under way", retry_after=0)

    async def _deliver(self, name: str, body: bytes) -> int:
        """Publish a batch, and return the number of its reports once the brokers have it."""
        try:
            return await self._intakes[name].take(body)
        except (MessageSizeTooLargeError, RecordListTooLargeError) as error:
            # To send it again would not help, and the brokers are well.
            raise _too_large(f"{len(body)} bytes, more than the topic takes") from error
        except (KafkaError, TimeoutError) as error:
            detail = "the batch may or may not have arrived: send the same bytes again, they count once"
            raise self._brokers_are_gone(error, detail) from error

    def _brokers_are_gone(self, error: Exception, detail: str) -> Refused:
        """Say that the brokers do not take batches, and return the answer to the client."""
        now = asyncio.get_running_loop().time()
        if now >= self._said_at + SAY_SECONDS:
            self._said_at = now
            why = explain(error, self._settings, PATIENCE)
            log.warning("the brokers %s do not take batches: %s", self._settings.brokers, why)
        return Refused(503, "brokers_unavailable", detail, retry_after=RETRY_SECONDS)

    async def _list(self, _: web.BaseRequest) -> web.Response:
        known = [
            {
                "name": name,
                "kind": kind_of(source.collection).name,
                "fingerprint": source.collection.fingerprint.hex(),
            }
            for name, source in self._sources.items()
        ]
        return web.json_response({"collections": known})

    async def _file(self, _: web.BaseRequest, name: str) -> web.Response:
        return web.Response(text=self._source(name).text, content_type="application/yaml")

    async def _document(self, _: web.BaseRequest, name: str) -> web.Response:
        return web.json_response(self._source(name).collection.document)

    async def _meaning(self, _: web.BaseRequest, name: str) -> web.Response:
        # As text: what a parser makes of 24.0 would have another fingerprint.
        return web.Response(text=self._source(name).collection.meaning, content_type="application/json")

    async def _asked(self, _: web.BaseRequest, name: str) -> web.Response:
        source = self._source(name)
        if (rounds := self._rounds.get(name)) is None:
            return web.json_response({"rounds": []})
        # A round is published after the window before its own has ended; one more makes up for clocks that differ.
        since_ms = self._now_ms() - 2 * source.collection.window.size_ms
        try:
            async with asyncio.timeout(PATIENCE):
                asked = await rounds.since(since_ms)
        except (KafkaError, TimeoutError) as error:
            raise self._brokers_are_gone(error, "ask again later") from error
        text = ", ".join(each.to_bytes().decode() for each in asked)
        return web.Response(text=f'{{"rounds": [{text}]}}', content_type="application/json")

    async def _show_metrics(self, request: web.BaseRequest) -> web.Response:
        return exposition(self._metrics.registry, request)

    async def _livez(self, _: web.BaseRequest) -> web.Response:
        return health(self._watch.live())

    async def _readyz(self, _: web.BaseRequest) -> web.Response:
        return health([*self._watch.problems(), *([] if self._state is None else [self._state])])


def _too_large(found: str) -> Refused:
    return Refused(413, "too_large", f"{found}; a batch has at most {MAX_BYTES} bytes")


def _allowed(origin: str) -> dict[str, str]:
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Authorization, Content-Type",
        # Without this, a script cannot read when to try again.
        "Access-Control-Expose-Headers": "Retry-After",
        "Access-Control-Max-Age": "3600",
        "Vary": "Origin",
    }
