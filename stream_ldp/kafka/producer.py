"""Write records by one producer; all replicas in sync acknowledge every write."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.producer.sender import Sender, SendProduceReqHandler

from stream_ldp.kafka.memory import CONNECTED, MemoryProducer
from stream_ldp.kafka.murmur import murmur2
from stream_ldp.kafka.patience import RETRY_SECONDS, passes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.kafka.shared_client import SharedClient

#: Seconds to wait for acknowledgements, longer than a broker takes to restart. An idempotent producer itself never
#: gives up a batch, and a worker that waits forever keeps its place in its groups and does nothing.
ACKNOWLEDGE_SECONDS = 60.0

#: Largest record, in bytes, that brokers accept by default.
USUAL_RECORD_BYTES = 2**20

#: Seconds for a request of an idempotent producer, whose repeats brokers drop. A worker that stops waits
#: for its last flush, and is ended by force after ten: a lost answer has to be given up and asked for again by then,
#: which leaves two seconds to write the repeat.
IDEMPOTENT_REQUEST_SECONDS = 8.0

#: Seconds for a request without idempotence, and for all tries of a record, after which aiokafka gives it up; or the
#: caller's own patience, if that is longer. It is aiokafka's default.
REQUEST_SECONDS = 40.0

#: Seconds for the sends under way when a producer is abandoned; they end by themselves unless the broker is frozen.
ABANDON_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A record to write.

    partition: None to let the key decide.
    time_ms: the producer's time of the record, in milliseconds since 1970-01-01 UTC; None for that of its clock.
    """

    topic: str
    key: bytes
    value: bytes
    partition: int | None = None
    time_ms: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()

    @classmethod
    def of(cls, message: KafkaMessage, *, topic: str) -> Self:
        """Make the record of a message, for a topic of one partition."""
        return cls(topic=topic, key=message.key, value=message.to_bytes(), partition=0, headers=message.headers)


#: Key, value, time in milliseconds since 1970-01-01 UTC, and headers of one of many records of a topic.
PlainRecord = tuple[bytes, bytes, int, list[tuple[str, bytes]]]


class KafkaMessage(Protocol):
    """What a record may say: an answer, a round, a part of the synthetic records of a window."""

    @property
    def key(self) -> bytes: ...

    @property
    def headers(self) -> tuple[tuple[str, bytes], ...]: ...

    def to_bytes(self) -> bytes:
        """Encode it as the value of the record."""
        ...


class _WholeAnswers(SendProduceReqHandler):  # type: ignore[misc]
    """A handler of answers that sends again what an answer leaves out.

    aiokafka passes over a partition that it has not written to, as one that was damaged on its way names it: no
    checksum covers an answer. The batches that it was about would never be acknowledged nor sent again.
    """

    def handle_response(self, response: Any) -> None:
        super().handle_response(response)
        named = {(topic, about[0]) for topic, partitions in response.topics for about in partitions}
        self._to_reenqueue += [batch for place, batch in self._batches.items() if place not in named]


def _sends_again(sender: Sender) -> Callable[[int, dict[Any, Any]], Awaitable[None]]:
    """Return what a sender does with the batches for a node, by handlers that send again."""

    async def send(node: int, batches: dict[Any, Any]) -> None:
        await _WholeAnswers(sender, batches).do(node)
        sender._in_flight.remove(node)
        sender._muted_partitions -= batches.keys()

    return send


class Producer:
    """A producer writes records, and waits until they are written."""

    def __init__(
        self,
        settings: Settings,
        *,
        idempotent: bool = True,
        max_record_bytes: int = USUAL_RECORD_BYTES,
        patience: float = REQUEST_SECONDS,
        acknowledge_seconds: float = ACKNOWLEDGE_SECONDS,
        client: SharedClient | None = None,
    ) -> None:
        """Prepare for any topics.

        idempotent: let the brokers drop the repeats of a write that is tried again. They know them by a producer id
            and a sequence number, which every stored batch then carries: a pseudonym of the producer. Without,
            a record may be written twice.
        max_record_bytes: largest record.
        patience: seconds for which a record is tried at least.
        acknowledge_seconds: seconds that `publish` waits for acknowledgements.
        client: whose connections it shares with other producers; None for connections of its own.
        """
        self._settings = settings
        self._idempotent = idempotent
        self._max_record_bytes = max_record_bytes
        self._patience = patience
        self._acknowledge_seconds = acknowledge_seconds
        self._client = client
        self._producer: Any = None

    async def start(self) -> None:
        """Connect; may be called again after a failure.

        Raises:
            KafkaError: the brokers cannot be used.
        """
        self._producer = self._made()
        try:
            await self._producer.start()
        except BaseException:
            await self.abandon()
            raise

    def _made(self) -> Any:
        options, broker = self._options(), CONNECTED.get()
        if broker is not None:
            return MemoryProducer(broker, options)
        producer = AIOKafkaProducer(**options)
        producer._sender._send_produce_req = _sends_again(producer._sender)
        if self._idempotent:
            # aiokafka gives a record up whose partition has had no leader for as long as a request may take, though
            # a broker that is shut down in order leaves its partitions so until it is back.
            producer._message_accumulator._batch_ttl = self._acknowledge_seconds
        if self._client is not None:
            self._client.lend(producer)
        return producer

    def _options(self) -> dict[str, Any]:
        seconds = IDEMPOTENT_REQUEST_SECONDS if self._idempotent else max(self._patience, REQUEST_SECONDS)
        return {
            **self._settings.client_options(),
            "enable_idempotence": self._idempotent,
            "acks": "all",
            "max_request_size": self._max_record_bytes,
            "request_timeout_ms": round(1_000 * seconds),
        }

    async def topics(self) -> set[str]:
        """Return the names of all existing topics that this user may describe."""
        return set((await self._producer.client.fetch_all_metadata()).topics())

    async def send(self, record: Record) -> asyncio.Future[Any]:
        """Hand over a record; the future is done when the brokers have acknowledged it, which may be never."""
        if self._producer is None:
            raise RuntimeError("the producer has not been started")
        options: dict[str, Any] = {}
        if record.partition is not None:
            options["partition"] = record.partition
        if record.time_ms is not None:
            options["timestamp_ms"] = record.time_ms
        if record.headers:
            options["headers"] = list(record.headers)
        sent: asyncio.Future[Any] = await self._producer.send(
            record.topic, key=record.key, value=record.value, **options
        )
        return sent

    async def write_together(
        self,
        topic: str,
        records: Sequence[PlainRecord],
        *,
        settle: Callable[[Sequence[int], KafkaError | None], None],
    ) -> None:
        """Write records to the partitions of their keys; those of a partition take hardly longer than one does.

        records: their keys have one length, a multiple of four bytes.
        settle: called with the positions of records that the brokers have acknowledged, or have not, and why.

        Raises:
            KafkaError: the partitions of the topic are not known; nothing has been written.
        """
        partitions = sorted(await self._producer.partitions_for(topic))
        homes = ((murmur2([key for key, *_ in records]) & 0x7FFFFFFF) % len(partitions)).tolist()
        # Of each partition the last one is being filled.
        groups: dict[int, list[tuple[Any, list[int]]]] = {}
        for place, (home, (key, value, time_ms, headers)) in enumerate(zip(homes, records, strict=True)):
            filled = groups.setdefault(partitions[home], [])
            if not filled or filled[-1][0].append(timestamp=time_ms, key=key, value=value, headers=headers) is None:
                filled.append((self._producer.create_batch(), []))
                filled[-1][0].append(timestamp=time_ms, key=key, value=value, headers=headers)
            filled[-1][1].append(place)

        async def write(partition: int, batch: Any, places: list[int]) -> None:
            batch.close()
            try:
                await (await self._producer.send_batch(batch, topic, partition=partition))
            except KafkaError as error:
                settle(places, error)
            else:
                settle(places, None)

        await asyncio.gather(*(write(home, *each) for home, filled in groups.items() for each in filled))

    async def publish(self, records: Iterable[Record]) -> None:
        """Write records and wait until the brokers have acknowledged every one.

        Raises:
            KafkaError: one of them could not be written.
            TimeoutError: they were not acknowledged in time.
        """
        async with asyncio.timeout(self._acknowledge_seconds):
            await asyncio.gather(*[await self._hand_over(record) for record in records])

    async def write(self, record: Record) -> int:
        """Write one record, and return its offset; see `publish`.

        It is 0 if it is not known, as when the brokers have dropped the repeat of a write.
        """
        async with asyncio.timeout(self._acknowledge_seconds):
            sent = await (await self._hand_over(record))
        return max(0, int(sent.offset))

    async def _hand_over(self, record: Record) -> asyncio.Future[Any]:
        """Hand over a record, however long it takes until its partition has a leader and there is room for it."""
        while True:
            try:
                return await self.send(record)
            except KafkaError as error:  # It has not been taken.
                if not passes(error):
                    raise
            await asyncio.sleep(RETRY_SECONDS)

    async def stop(self) -> None:
        """Disconnect, once all that was sent is acknowledged; may be called twice, or without a start."""
        if self._producer is not None:
            await self._producer.stop()

    async def abandon(self) -> None:
        """Disconnect without the records that no broker accepts: aiokafka's `stop` would wait for them without end.

        May be called twice, or without a start.
        """
        if self._producer is None:
            return
        # A sender that has been made and has not begun would end with its cancellation, which is raised here.
        await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError, KafkaError):
            async with asyncio.timeout(ABANDON_SECONDS):
                await self._producer._sender.close()
        self._producer._closed = True
        await self._producer.client.close()
