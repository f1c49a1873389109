"""Send batches to a reports topic and account for every one of them."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import deque
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Self

from stream_ldp.client.errors import DeliveryError, require_topic
from stream_ldp.kafka.connection import BrokerUnreachable, check_connection
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.content_type import BATCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.wire import Batch

log = logging.getLogger(__name__)

#: Milliseconds by which a clock may be ahead of the brokers' without a warning.
MAX_AHEAD_MS = 60_000

#: Kafka's mark of a record's time that is the broker's own.
_LOG_APPEND_TIME = 1

#: Seconds for the steps between a checked connection and a producer that can send.
START_TIMEOUT_SECONDS = 15.0


class Outbox:
    """An outbox sends batches and keeps each until it is acknowledged. Its `async with` block is its connection.

    A batch that is not acknowledged in time is lost. At the first lost batch, the outbox gives up: it abandons the
    batches on their way, sends nothing that comes later, and counts all of these as lost. So the reports that were
    handed over are those that were acknowledged and those that a DeliveryError counts, and no others.

    Nothing that the brokers store shows whose batches they are. So the producer is not idempotent, and what it writes
    again after a failure may be stored twice: workers count a batch id once.
    """

    def __init__(self, topic: str, *, settings: Settings, max_in_flight: int, delivery_timeout: float) -> None:
        """Prepare for one reports topic.

        max_in_flight: the most batches on their way at once.
        delivery_timeout: the most seconds from sending a batch to its acknowledgement.
        """
        self._topic = topic
        self._settings = settings
        self._max_in_flight = max_in_flight
        self._delivery_timeout = delivery_timeout
        self._in_flight: set[asyncio.Task[None]] = set()
        self._acknowledged = 0
        self._unacknowledged = 0
        self._unsent = 0
        self._cause: BaseException | None = None
        self._clock_reported = False
        self._abandoning: asyncio.Task[None] | None = None
        self._producer = Producer(settings, idempotent=False, patience=delivery_timeout)

    async def __aenter__(self) -> Self:
        """Connect and find the topic.

        Raises:
            BrokerUnreachable, SettingsError: no broker can be reached, or none accepts a producer.
            MissingTopic: the topic does not exist.
            KafkaError: the brokers refuse this client.
        """
        await check_connection(self._settings)
        async with AsyncExitStack() as unfinished:
            unfinished.push_async_callback(self._producer.stop)
            require_topic(self._topic, await self._started(), self._settings)
            unfinished.pop_all()
        return self

    async def _started(self) -> set[str]:
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                await self._producer.start()
                return await self._producer.topics()
        except TimeoutError as error:
            raise BrokerUnreachable(
                f"{self._settings.brokers} answers, but accepts no producer within {START_TIMEOUT_SECONDS:g} s"
            ) from error

    async def __aexit__(self, *_: object) -> None:
        """Disconnect; call `flush` first."""
        if self._abandoning is None:
            await self._producer.stop()
        else:
            await self._abandoning

    @property
    def acknowledged(self) -> int:
        """Number of reports that the brokers have acknowledged."""
        return self._acknowledged

    @property
    def lost(self) -> bool:
        """True once a batch has been lost: nothing is sent any more."""
        return self._cause is not None

    @property
    def full(self) -> bool:
        """True while as many batches are on their way as may be at once."""
        return len(self._in_flight) >= self._max_in_flight

    async def check(self) -> None:
        """Return at once if nothing has been lost.

        Raises:
            DeliveryError: a batch has been lost.
        """
        if self._cause is None:
            return
        while self._in_flight:
            await asyncio.wait(self._in_flight)
        lost = self._unacknowledged + self._unsent
        raise DeliveryError(lost, self._topic, self._why(self._cause), unsent=self._unsent) from self._cause

    async def publish(self, batches: Sequence[Batch]) -> None:
        """Send batches as soon as there is room for each, without waiting until they have arrived.

        Raises:
            DeliveryError: a batch has been lost, and the rest of these is not sent.
        """
        unsent = deque(batches)
        try:
            while unsent:
                while self.full and not self.lost:
                    await asyncio.wait(self._in_flight, return_when=asyncio.FIRST_COMPLETED)
                self.send(unsent.popleft())
                # Let the producer run: a caller that reports in a tight loop would keep every batch waiting.
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            # A batch also holds the reports of other callers, so it is sent although there is no room.
            for batch in unsent:
                self.send(batch)
            raise
        await self.check()

    def send(self, batch: Batch) -> None:
        """Send a batch now, whether or not there is room; after a loss it is not sent, and counts as lost too."""
        if self.lost:
            self._unsent += len(batch.rows)
            return
        task = asyncio.get_running_loop().create_task(self._deliver(batch))
        self._in_flight.add(task)
        task.add_done_callback(functools.partial(self._settle, len(batch.rows)))

    async def flush(self) -> int:
        """Wait until every batch is acknowledged, and return the number of reports that have been acknowledged.

        Raises:
            DeliveryError: a batch was lost.
        """
        while self._in_flight:
            await asyncio.wait(self._in_flight)
        await self.check()
        return self._acknowledged

    async def _deliver(self, batch: Batch) -> None:
        # The record's time is the batch's, and not that of the client's clock, which differs from the broker's by an
        # amount of its own: topics of reports replace it, but the producer's stays in the stored batch.
        record = Record(
            topic=self._topic, key=batch.batch_id, value=wire.encode(batch), time_ms=batch.time_ms, headers=BATCH
        )
        async with asyncio.timeout(self._delivery_timeout):
            acknowledged = await (await self._producer.send(record))
        self._compare_clocks(batch, acknowledged)

    def _compare_clocks(self, batch: Batch, acknowledged: Any) -> None:
        """Say once that the client's clock is far ahead of the broker's, which stamps a record as it appends it."""
        if self._clock_reported or getattr(acknowledged, "timestamp_type", None) != _LOG_APPEND_TIME:
            return
        ahead_ms = batch.time_ms - acknowledged.timestamp
        if ahead_ms > MAX_AHEAD_MS:
            self._clock_reported = True
            log.warning(
                "%s: this machine's clock is %.0f s ahead of the brokers': reports from the future are refused, and "
                "what they have cost their user is spent\n  -> set the clock",
                self._topic,
                ahead_ms / 1_000,
            )

    def _settle(self, reports: int, delivery: asyncio.Task[None]) -> None:
        self._in_flight.discard(delivery)
        cause = asyncio.CancelledError() if delivery.cancelled() else delivery.exception()
        if cause is None:
            self._acknowledged += reports
            return
        self._unacknowledged += reports
        if self._cause is None:
            self._give_up(cause)

    def _give_up(self, cause: BaseException) -> None:
        """Send nothing more, not even what the producer has taken and not sent yet."""
        self._cause = cause
        log.error("reports to topic %s are lost, and no more are sent: %s", self._topic, self._why(cause))
        for delivery in self._in_flight:
            delivery.cancel()
        self._abandoning = asyncio.get_running_loop().create_task(self._producer.abandon())

    def _why(self, cause: BaseException) -> str:
        if isinstance(cause, TimeoutError):
            return f"no answer within {self._delivery_timeout:g} s"
        return str(cause) or type(cause).__name__
