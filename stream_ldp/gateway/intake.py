"""Take batches in: those that come within some milliseconds are judged, and handed to the brokers, together."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from itertools import repeat
from typing import TYPE_CHECKING, Protocol

from stream_ldp.gateway.admission import Admission
from stream_ldp.http.refusal import Refused
from stream_ldp.kafka.tracing import span, trace_headers, traces
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.content_type import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.gateway.admission import Admitted
    from stream_ldp.gateway.metrics import GatewayMetrics
    from stream_ldp.kafka.producer import Producer
    from stream_ldp.pipeline.layout import Layout

    #: Batches, and what their clients wait for.
    Group = list[tuple[bytes, asyncio.Future[int]]]

#: Seconds that a client waits for the brokers. Then it tries again with the same bytes, which are counted once.
PATIENCE = 10.0

#: Seconds for which a batch waits for others: to judge and to send one alone takes as long as for thirty. While
#: others are on their way to the brokers, it waits at most so many times as long: more go together when all are busy.
GATHER_SECONDS, GATHER_TIMES = 0.005, 5

#: Bytes of batches that wait for no more others: with a largest one behind them, they are judged in 2 ms.
GATHER_BYTES = 2**18


class RoundLayouts(Protocol):
    """Where the layouts of a collection's rounds come from; see `stream_ldp.kafka.round_log.RoundLog`."""

    async def layouts(self, fingerprints: Iterable[bytes]) -> list[Layout]:
        """Return the layouts of the batches with these fingerprints, for those that have a round."""
        ...


class Intake:
    """The intake of one collection.

    What is done for each batch alone takes longer than the batch: decoding, clock, request to the brokers, waiting
    for their answer and metrics are those of all batches that have come together.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        topic: str,
        producer: Producer,
        rounds: RoundLayouts | None,
        metrics: GatewayMetrics,
        now_ms: Callable[[], int],
    ) -> None:
        """Prepare for one collection.

        topic: that of its reports.
        rounds: the rounds of a collection whose later questions depend on earlier answers; None for any other.
        now_ms: the time of day, in milliseconds since 1970-01-01 UTC.
        """
        self._name, self._fingerprint = collection.name, collection.fingerprint
        self._admission = Admission(collection)
        self._topic = topic
        self._producer = producer
        self._rounds = rounds
        self._metrics = metrics
        self._batches, self._reports = metrics.batches.labels(self._name), metrics.reports.labels(self._name)
        self._now_ms = now_ms
        # By the fingerprint of the round that they may answer; None for those that are no answer to a round.
        self._waiting: dict[bytes | None, Group] = {}
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._times = 0
        self._under_way: set[asyncio.Task[None]] = set()

    def take(self, record: bytes) -> asyncio.Future[int]:
        """Take a batch, and return what has its number of reports once the brokers have it.

        It raises:
            Refused: a worker would not count it.
            KafkaError: the brokers do not take it.
            TimeoutError: they have not answered in time.
        """
        loop = asyncio.get_running_loop()
        if self._timer is None:
            self._wait()
        taken: asyncio.Future[int] = loop.create_future()
        # Those of an unknown round, which has to be looked for, keep nobody else waiting.
        self._waiting.setdefault(self._round_of(record), []).append((record, taken))
        self._bytes += len(record)
        if self._bytes >= GATHER_BYTES:
            self._begin()
        return taken

    def _round_of(self, record: bytes) -> bytes | None:
        if self._rounds is None:
            return None
        return next(iter(wire.fingerprints([record]) - {self._fingerprint}), None)

    def _wait(self) -> None:
        self._times += 1
        self._timer = asyncio.get_running_loop().call_later(GATHER_SECONDS, self._go_on)

    def _go_on(self) -> None:
        if self._under_way and self._times < GATHER_TIMES:
            self._wait()
        else:
            self._begin()

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        groups, self._waiting, self._bytes, self._timer, self._times = self._waiting, {}, 0, None, 0
        for asked, group in groups.items():
            task = asyncio.get_running_loop().create_task(self._bring(group, asked))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _bring(self, group: Group, asked: bytes | None) -> None:
        """Bring batches to the brokers, and give every client an answer, whatever happens.

        asked: fingerprint of the round that they may answer.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                rounds = [] if self._rounds is None or asked is None else await self._rounds.layouts({asked})
                await self._publish(group, rounds)
        except Exception as error:  # noqa: BLE001  the clients raise it
            _fail(group, error)
        finally:
            for _, taken in group:
                taken.cancel()  # Of those that have no answer, as at the end of the gateway.

    async def _publish(self, group: Group, rounds: Sequence[Layout]) -> None:
        judged = self._admission.judge([record for record, _ in group], now_ms=self._now_ms(), rounds=rounds)
        for place, rejected in judged.rejected.items():
            _fail([group[place]], Refused(400, rejected.reason.value, rejected.detail))
        admitted = judged.admitted
        if not admitted:
            return

        def settle(places: Sequence[int], error: Exception | None) -> None:
            ours = [admitted[place] for place in places]
            if error is None:
                self._acknowledge(group, ours)
            else:
                _fail([group[each.place] for each in ours], error)

        self._metrics.open.inc(len(admitted))
        try:
            with self._metrics.seconds.time(), ExitStack() as spans:
                headers = [self._traced(each, spans) for each in admitted] if traces() else repeat([*BATCH])
                records = [
                    (each.batch_id, group[each.place][0], each.time_ms, whose)
                    for each, whose in zip(admitted, headers, strict=False)
                ]
                await self._producer.write_together(self._topic, records, settle=settle)
        finally:
            self._metrics.open.dec(len(admitted))

    def _traced(self, admitted: Admitted, spans: ExitStack) -> list[tuple[str, bytes]]:
        """Begin the span of a batch, and return its headers."""
        spans.enter_context(span("send", root=True, collection=self._name, reports=admitted.reports))
        return [*BATCH, *trace_headers()]

    def _acknowledge(self, group: Group, admitted: Sequence[Admitted]) -> None:
        self._batches.inc(len(admitted))
        self._reports.inc(sum(each.reports for each in admitted))
        for each in admitted:
            _, taken = group[each.place]
            if not taken.done():
                taken.set_result(each.reports)

    async def stop(self) -> None:
        """Give up what is under way."""
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._under_way)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _fail(group: Group, error: Exception) -> None:
    for _, taken in group:
        if not taken.done():  # else nobody waits for it any more
            taken.set_exception(error)
