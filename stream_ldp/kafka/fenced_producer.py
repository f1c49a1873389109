"""Write to a topic that one producer at a time may write to: the one that takes it shuts out all others.

It is Kafka's own fence. The name of the topic is the transactional id: its next holder gets a new epoch from the
brokers. They end the transaction of the previous one and refuse all that it still sends, even if it was frozen for an
hour. So who takes the topic, and then reads it to its end, has seen all that there will be but for what it writes
itself.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from aiokafka.errors import (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    KafkaError,
    OutOfOrderSequenceNumber,
    ProducerFenced,
    UnknownProducerId,
)

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.producer import Producer, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.kafka.shared_client import SharedClient

#: What brokers say to a producer that another has shut out, whose transaction has taken too long, or whom they have
#: forgotten, as they do after a week without a record.
_LOST = (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    ProducerFenced,
    UnknownProducerId,
)


class Fenced(StreamLDPError, RuntimeError):
    """The topic is not this producer's any more; whether the last record is on the log, the log says."""


class ExclusiveWriter(Protocol):
    """What writes to a topic as long as nobody else has taken it; see `FencedProducer`."""

    @property
    def held(self) -> bool:
        """Whether it has taken the topic, and no other has since, as far as it has seen."""
        raise NotImplementedError

    async def take(self) -> None:
        """Take the topic."""

    async def write(self, record: Record) -> int:
        """Write a record, and return its offset."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Disconnect."""


class FencedProducer(Producer):
    """A fenced producer writes to one topic, as long as no other has taken it."""

    def __init__(
        self,
        settings: Settings,
        *,
        topic: str,
        max_record_bytes: int,
        acknowledge_seconds: float,
        client: SharedClient | None = None,
    ) -> None:
        """Prepare for a topic; see `Producer`."""
        super().__init__(
            settings, max_record_bytes=max_record_bytes, acknowledge_seconds=acknowledge_seconds, client=client
        )
        self._topic = topic
        self.held = False

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "transactional_id": self._topic}

    async def take(self) -> None:
        """Take the topic. The previous producer cannot write there any more.

        Raises:
            Fenced: another producer has taken it at the same time.
            KafkaError: the brokers cannot be used.
            TimeoutError: they have not answered in time.
        """
        await self.stop()
        with self._telling():
            async with asyncio.timeout(self._acknowledge_seconds):
                await self.start()
        self.held = True

    async def write(self, record: Record) -> int:
        """Write one record to the topic, in a transaction of its own, and return its offset.

        Raises:
            Fenced: another producer has taken the topic since.
            KafkaError: the record could not be written.
            TimeoutError: it was not acknowledged in time.
        """
        if not self.held:
            raise RuntimeError(f"{self._topic} has not been taken")
        # Until the brokers have said that it is written, nothing is known.
        self.held = False
        with self._telling():
            async with asyncio.timeout(self._acknowledge_seconds):
                await self._producer.begin_transaction()
                sent = await self._hand_over(record)
                # A transaction that fails says why; nobody wants to hear it of its record again.
                sent.add_done_callback(lambda done: done.cancelled() or done.exception())
                await self._producer.commit_transaction()
                offset = int((await sent).offset)
        self.held = True
        return offset

    async def stop(self) -> None:
        """Disconnect; may be called twice, or without a start.

        A transaction under way is ended by the next producer that takes the topic, or by the brokers after a minute.
        """
        self.held = False
        await self.abandon()

    def _hear_out(self) -> None:
        """Take note of what has failed with the transaction, which asyncio would log as errors of nobody."""
        batches = self._producer._message_accumulator._batches
        for batch in [each for of_partition in batches.values() for each in of_partition]:
            batch._drain_waiter.add_done_callback(lambda done: done.cancelled() or done.exception())

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except KafkaError as error:
            self._hear_out()
            # aiokafka says some of it itself, and some by a cause.
            if isinstance(error, _LOST) or isinstance(error.__cause__, _LOST):
                raise Fenced(f"{self._topic} has been taken by another producer") from error
            raise
