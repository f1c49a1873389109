"""This module sends batches to a reports topic and accounts for every one of them."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from typing import TYPE_CHECKING, Self

from stream_ldp.client.errors import DeliveryError, require_topic
from stream_ldp.kafka.connection import BrokerUnreachable, check_connection
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.pipeline import wire

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.wire import Batch

__all__ = ["Outbox"]

#: Seconds for the steps between a checked connection and a producer that can send.
START_TIMEOUT_SECONDS = 15.0


class Outbox:
    """An outbox sends batches and keeps each until it is acknowledged. Its `async with` block is its connection.

    aiokafka's own `flush` says nothing of failed sends, and its idempotent producer tries for ever. Here a batch
    that is not acknowledged in time is lost. After that nothing more is sent: the producer cannot leave a batch out,
    so what comes later would wait behind it.
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
        self._lost = 0
        self._cause: BaseException | None = None
        self._producer = Producer(settings)

    async def __aenter__(self) -> Self:
        """Connect and find the topic.

        Raises:
            BrokerUnreachable, SettingsError: no broker can be reached, or none accepts a producer.
            MissingTopic: the topic does not exist.
            KafkaError: the brokers refuse this client.
        """
        await check_connection(self._settings)
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                await self._producer.start()
                existing = await self._producer.topics()
            require_topic(self._topic, existing, self._settings)
        except BaseException as error:
            await self._producer.stop()
            if isinstance(error, TimeoutError):
                raise BrokerUnreachable(
                    f"{self._settings.brokers} answers, but accepts no producer within {START_TIMEOUT_SECONDS:g} s"
                ) from error
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect; call `flush` first."""
        if self._cause is None:
            await self._producer.stop()
        else:
            await self._producer.abandon()

    @property
    def acknowledged(self) -> int:
        """Number of reports that the brokers have acknowledged."""
        return self._acknowledged

    @property
    def full(self) -> bool:
        """True while as many batches are on their way as may be at once."""
        return len(self._in_flight) >= self._max_in_flight

    async def publish(self, batches: Sequence[Batch]) -> None:
        """Send batches as soon as there is room for each, without waiting until they have arrived.

        Raises:
            DeliveryError: a batch has been lost, and the rest of these is not sent.
        """
        unsent = deque(batches)
        try:
            while unsent:
                while self.full and self._cause is None:
                    await asyncio.wait(self._in_flight, return_when=asyncio.FIRST_COMPLETED)
                if self._cause is not None:
                    self._lost += sum(len(batch.rows) for batch in unsent)
                self._raise_if_lost()
                self.send(unsent.popleft())
                # Let the producer run: a caller that reports in a tight loop would keep every batch waiting.
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            # A batch also holds the reports of other callers, so it is sent although there is no room.
            for batch in unsent:
                self.send(batch)
            raise

    def send(self, batch: Batch) -> None:
        """Send a batch now, whether or not there is room."""
        task = asyncio.get_running_loop().create_task(self._deliver(batch))
        self._in_flight.add(task)
        task.add_done_callback(functools.partial(self._settle, len(batch.rows)))

    async def flush(self) -> None:
        """Wait until every batch is acknowledged.

        Raises:
            DeliveryError: a batch was lost.
        """
        while self._in_flight:
            await asyncio.wait(self._in_flight)
        self._raise_if_lost()

    async def _deliver(self, batch: Batch) -> None:
        record = Record(topic=self._topic, key=batch.batch_id, value=wire.encode(batch))
        async with asyncio.timeout(self._delivery_timeout):
            await (await self._producer.send(record))

    def _settle(self, reports: int, delivery: asyncio.Task[None]) -> None:
        self._in_flight.discard(delivery)
        cause = asyncio.CancelledError() if delivery.cancelled() else delivery.exception()
        if cause is None:
            self._acknowledged += reports
        else:
            self._lost += reports
            self._cause = self._cause or cause

    def _raise_if_lost(self) -> None:
        if self._cause is None:
            return
        if isinstance(self._cause, TimeoutError):
            why = f"no answer within {self._delivery_timeout:g} s"
        else:
            why = str(self._cause) or type(self._cause).__name__
        raise DeliveryError(self._lost, self._topic, why) from self._cause
