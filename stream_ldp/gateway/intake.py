"""Take batches in: those that come within some milliseconds are judged, and handed to the brokers, together."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

from stream_ldp.http.refusal import Refused
from stream_ldp.kafka.tracing import is_tracing, span, trace_headers
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.content_type import BATCH
from stream_ldp.pipeline.rejection import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.gateway.metrics import GatewayMetrics
    from stream_ldp.kafka.producer import PlainRecord, Producer
    from stream_ldp.kafka.round_log import RoundLog
    from stream_ldp.pipeline.layout import Layout

    #: What the client of a batch waits for: the number of its reports.
    Taken = asyncio.Future[int]

#: Seconds that a client waits for the brokers. Then it tries again with the same bytes, which are counted once.
PATIENCE = 10.0

#: Seconds for which a batch waits for others: to judge and to send one alone takes as long as for thirty. While
#: others are on their way to the brokers, it waits at most so many times as long: more go together when all are busy.
GATHER_SECONDS, GATHER_TIMES = 0.005, 5

#: Bytes of batches that wait for no more others: with a largest one behind them, they are judged in 2 ms.
GATHER_BYTES = 2**18


class Intake:
    """The intake of one collection lets in what a worker would count, by the workers' own decoder.

    Whether a batch is late, or was counted before, only a worker can decide. What is done for each batch alone takes
    longer than the batch: decoding, clock, request to the brokers, their answer and metrics are those of a group.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        topic: str,
        producer: Producer,
        rounds: RoundLog | None,
        metrics: GatewayMetrics,
        now_ms: Callable[[], int],
    ) -> None:
        """Prepare for one collection.

        topic: that of its reports.
        rounds: the rounds of a collection whose later questions depend on earlier answers; None for any other.
        now_ms: the time of day, in milliseconds since 1970-01-01 UTC.
        """
        self._name, self._ahead_ms = collection.name, collection.window.ahead_ms
        self._own = kind_of(collection).layout(collection)
        self._topic = topic
        self._producer = producer
        self._rounds = rounds
        self._metrics = metrics
        self._now_ms = now_ms
        # By the fingerprint of the round that they may answer; None for those that are no answer to a round.
        self._waiting: dict[bytes | None, dict[Taken, bytes]] = {}
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    def take(self, record: bytes) -> Taken:
        """Take a batch, and return what has its number of reports once the brokers have it.

        It raises:
            Refused: a worker would not count it.
            KafkaError: the brokers do not take it.
            TimeoutError: they have not answered in time.
        """
        asked, loop = None, asyncio.get_running_loop()
        if self._rounds is not None:
            # Those of an unknown round, which has to be looked for, keep nobody else waiting.
            asked = next(iter(wire.fingerprints([record]) - {self._own.fingerprint}), None)
        taken: Taken = loop.create_future()
        self._waiting.setdefault(asked, {})[taken] = record
        self._bytes += len(record)
        if self._timer is None:
            self._timer = loop.call_later(GATHER_SECONDS, self._begin, GATHER_TIMES - 1)
        if self._bytes >= GATHER_BYTES:
            self._timer.cancel()
            self._begin(0)
        return taken

    def _begin(self, times: int) -> None:
        """Begin with what has come, or wait for what is under way, so many times at most."""
        loop = asyncio.get_running_loop()
        if self._under_way and times:
            self._timer = loop.call_later(GATHER_SECONDS, self._begin, times - 1)
            return
        groups, self._waiting, self._bytes, self._timer = self._waiting, {}, 0, None
        for asked, group in groups.items():
            task = loop.create_task(self._bring(group, asked))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _bring(self, group: dict[Taken, bytes], asked: bytes | None) -> None:
        """Bring batches to the brokers, and give every client an answer, whatever happens."""
        try:
            async with asyncio.timeout(PATIENCE):
                rounds = [] if self._rounds is None or asked is None else await self._rounds.layouts({asked})
                await self._publish(group, rounds)
        except Exception as error:  # noqa: BLE001  the clients raise it
            _fail(group, error)
        except asyncio.CancelledError:
            _fail(group, TimeoutError())
            raise

    async def _publish(self, group: dict[Taken, bytes], rounds: Sequence[Layout]) -> None:
        clients, values = list(group), list(group.values())
        found = wire.decode(values, formats={each.fingerprint: each for each in (self._own, *rounds)})
        for place, rejected in found.rejected:
            _fail([clients[place]], Refused(400, rejected.reason.value, rejected.detail))
        latest_ms = self._now_ms() + self._ahead_ms
        admitted: list[tuple[Taken, int]] = []
        records: list[PlainRecord] = []
        columns = found.accepted.tolist(), found.batch_ids, found.time_ms.tolist(), found.counts.tolist()
        with ExitStack() as spans:
            for place, batch_id, time_ms, reports in zip(*columns, strict=True):
                if time_ms > latest_ms:
                    detail = f"more than {self._ahead_ms} ms ahead of the gateway's clock"
                    _fail([clients[place]], Refused(400, Reason.FUTURE_TIME.value, detail))
                    continue
                headers = [*BATCH]
                if is_tracing():
                    spans.enter_context(span("send", root=True, collection=self._name, reports=reports))
                    headers += trace_headers()
                records.append((batch_id, values[place], time_ms, headers))
                admitted.append((clients[place], reports))
            if records:
                await self._write(records, admitted)

    async def _write(self, records: Sequence[PlainRecord], admitted: Sequence[tuple[Taken, int]]) -> None:
        def settle(places: Sequence[int], error: Exception | None) -> None:
            ours = [admitted[place] for place in places]
            if error is not None:
                _fail((taken for taken, _ in ours), error)
                return
            self._metrics.batches.labels(self._name).inc(len(ours))
            self._metrics.reports.labels(self._name).inc(sum(reports for _, reports in ours))
            for taken, reports in ours:
                if not taken.done():
                    taken.set_result(reports)

        self._metrics.open.inc(len(records))
        try:
            with self._metrics.seconds.time():
                await self._producer.write_together(self._topic, records, settle=settle)
        finally:
            self._metrics.open.dec(len(records))


def _fail(clients: Iterable[Taken], error: Exception) -> None:
    for each in clients:
        if not each.done():  # else nobody waits for it any more
            each.set_exception(error)
