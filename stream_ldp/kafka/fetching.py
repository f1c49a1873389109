"""Mend how aiokafka parses what it has fetched, for all consumers of the process.

aiokafka has no setting for any of this, and makes these objects by their names in its own modules:

* A consumer may take records as columns; see `columns`.
* A record with an offset that no broker gave it cannot be parsed; see `record_batch.placed`. aiokafka goes on there.
* A turn ends where its batches have expanded far enough (see `decompression`), and the next one goes on there.
  aiokafka expands as many batches as there are records wanted.
* What cannot be parsed is an error of its own partition. aiokafka drops what it has parsed before, of other
  partitions too, and does not say where the failure is.
* A consumer may say when it wants more. aiokafka fetches again as soon as it has handed over the records: under an
  even load nearly every record is fetched by itself, and a fetch takes as long as a hundred records do.
* Offsets may be asked for beside the fetch that waits for records. In aiokafka they wait behind it.
* Brokers wait for records the longer the more partitions there are, and hardly after a place has changed.
* A consumer that is stopped as it loses its partitions ends. In aiokafka it may wait without end.
* A consumer that leaves its group waits a moment for the answer. In aiokafka it waits as long as for any other, and a
  worker that stops has less time.
* A response that makes no sense, such as one that was damaged on its way, is asked for again. In aiokafka it ends the
  task that fetches, and nothing says so: the consumer gets no record any more, and no error.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import sys
import time
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any

from aiokafka.client import ConnectionGroup
from aiokafka.conn import CloseReason
from aiokafka.consumer import consumer as consumer_module
from aiokafka.consumer import fetcher as fetcher_module
from aiokafka.consumer.fetcher import Fetcher, FetchError, FetchResult, PartitionRecords
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import CorruptRecordException, KafkaError, RecordTooLargeError, RequestTimedOutError
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.record.memory_records import MemoryRecords

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.columns import Columns, StoredBatches
from stream_ldp.kafka.decompression import limit_aiokafka, turn_under_way

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from aiokafka import TopicPartition

log = logging.getLogger(__name__)


#: Shortest wait of a broker for records, in milliseconds, after a partition has been sought; it doubles while none
#: come. A fetch that is under way has the old place, and the next one waits for it.
_SHORTEST_MS = 50

#: Milliseconds for which a broker may wait for records, for each partition, and at most. To ask for a partition and
#: to read the answer takes up to 20 us, so hundreds take half a percent of a core. What comes is sent at once.
_PARTITION_MS, _LONGEST_MS = 4, 5_000

#: Seconds for the answer to a member that leaves its group; nothing depends on it.
LEAVE_SECONDS = 2.0

#: Seconds for an answer about offsets, after which its connection is dead. aiokafka gives up the question before the
#: connection.
OFFSETS_SECONDS = 10.0

#: A partition is behind if a response had so many bytes of it: half of what aiokafka asks for.
_BEHIND_BYTES = 2**19


class CannotParse(StreamLDPError, ValueError):
    """What a consumer has fetched cannot be parsed from its position on.

    partition: the topic and the partition.
    """

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(f"{partition.topic} partition {partition.partition}: a batch cannot be parsed")
        self.partition = partition


class _Fetched:
    """What has been fetched of a partition: its batches, as aiokafka parses them, and their bytes."""

    __slots__ = ("batches", "data", "has_next", "size_in_bytes")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.batches = MemoryRecords(data)
        self.has_next = self.batches.has_next
        self.size_in_bytes = self.batches.size_in_bytes


class _Batches:
    """The batches of a fetch, which seem to end when the turn is spent.

    turn: the turn in which they are parsed.
    """

    __slots__ = ("_stored", "all", "next_batch", "turn")

    def __init__(self, fetched: _Fetched) -> None:
        self.all = fetched.batches
        self._stored = StoredBatches(self.all.next_batch, fetched.data)
        self.next_batch = self._stored.next_batch
        self.turn = turn_under_way()

    def come_in_columns(self, next_offset: Callable[[], int]) -> None:
        """Let the records of large batches come as columns, from the next batch on; see `StoredBatches`."""
        self._stored.next_offset = next_offset

    def has_next(self) -> bool:
        # Without a call more than it needs: where each batch has one record, it is a tenth of the time of a fetch.
        turn = self.turn
        return turn.expanded < turn.most and self.all.has_next()


class _Records(PartitionRecords):  # type: ignore[misc]
    """The records of a fetch.

    nbytes: their size as fetched.
    ended: whether all have been taken.
    in_columns: whether they are given as `Columns`.
    """

    _records_iterator: Iterator[Any]

    def __init__(self, tp: TopicPartition, records: Any, *options: Any) -> None:
        super().__init__(tp, _Batches(records), *options)
        self.nbytes: int = records.size_in_bytes()
        self.ended = False
        self.in_columns = False
        # Columns of which a part has been taken, the rest.
        self._rest: Columns | None = None
        self._parser_failed = False

    @property
    def failed(self) -> bool:
        """Whether what comes next cannot be parsed. The error is not kept: it holds what was expanded."""
        return self._parser_failed and self._rest is None

    def come_in_columns(self) -> None:
        """Give records as `Columns` from now on, when none has been taken yet."""
        if not self.in_columns:
            self.in_columns = True
            self._records.come_in_columns(lambda: self.next_fetch_offset)
            self._consumer_record = _as_it_is

    def _unpack_records(self) -> Iterator[Any]:
        try:
            yield from super()._unpack_records()
        except Exception:  # noqa: BLE001  every codec has exceptions of its own
            self._parser_failed = True

    def take(self, most: int | None) -> list[Any] | Columns:
        """Return the next records, as many as the turn has room for."""
        self._records.turn = turn_under_way()
        found: list[Any] | Columns
        if self.in_columns:
            parts = self._columns(most)
            found = Columns.joined(parts) if parts else []
        else:
            found = list(islice(self._records_iterator, most))
        if not self._parser_failed and (most is None or len(found) < most):
            self.ended = not self._records.all.has_next()
            self._records_iterator = self._unpack_records()  # It was the turn that ended this one.
        return found

    def _columns(self, most: int | None) -> Sequence[Columns]:
        """Take the next records as columns, if there are any."""
        room = sys.maxsize if most is None else most
        parts: list[Columns] = []
        coming = chain([] if self._rest is None else [self._rest], self._records_iterator)
        self._rest = None
        # Without a step of Python for each record of small batches.
        for kind, some in groupby(coming, type):
            if kind is Columns:
                for part in some:
                    found, self._rest = part[:room], part[room:] or None
                    self.next_fetch_offset = found.offset + 1
                    parts.append(found)
                    room -= len(found)
                    if not room:
                        break
            else:
                records = list(islice(some, room))
                parts.append(Columns.of(records))
                room -= len(records)
            if not room:
                break
        return parts


def _as_it_is(_: Any, record: Any) -> Any:
    return record


class _Result(FetchResult):  # type: ignore[misc]
    """What a fetch has brought."""

    _partition_records: _Records | None

    @property
    def failed(self) -> bool:
        """Whether what comes next cannot be parsed."""
        return self._partition_records is not None and self._partition_records.failed

    @property
    def nbytes(self) -> int:
        """The bytes of the fetch that are left, as fetched; 0 once all has been taken."""
        return 0 if self._partition_records is None else self._partition_records.nbytes

    def come_in_columns(self) -> None:
        """Give the records as `Columns`."""
        if self._partition_records is not None:
            self._partition_records.come_in_columns()

    def getall(self, max_records: int | None = None) -> list[Any] | Columns:
        records = self._partition_records
        if records is None or not self.check_assignment(self._topic_partition):
            return []
        found = records.take(max_records)
        self._update_position()
        if records.ended:
            self._partition_records = None
        return found

    def getone(self) -> Any:
        found: Any = self.getall(max_records=1)
        if not found and self.failed:
            self._partition_records = None
            raise CannotParse(self._topic_partition)
        return found[0] if found else None


class _Coordinator(GroupCoordinator):  # type: ignore[misc]
    """A member of a group that leaves it without waiting long: if nobody hears of it, its session ends."""

    async def _maybe_leave_group(self) -> None:
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await super()._maybe_leave_group()
        except TimeoutError:
            self.reset_generation()


class _OffsetsAside:
    """A client that asks for offsets by a connection of their own.

    A broker answers the requests of a connection in order, and a fetch waits half a second for records: so long took
    each look at the end of a log that had no more, thousands of them where a worker serves many collections.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def send(self, node: int, request: Any, **options: Any) -> Any:
        """Send a request, and return its response."""
        if not isinstance(request, OffsetRequest):
            return await self._client.send(node, request, **options)
        try:
            async with asyncio.timeout(OFFSETS_SECONDS):
                return await self._client.send(node, request, group=ConnectionGroup.COORDINATION)
        except TimeoutError:
            # Where there is no group, nothing else uses the connection: one that is silent would stay so for ever.
            connection = self._client._conns.get((node, ConnectionGroup.COORDINATION))
            if connection is not None:
                connection.close(reason=CloseReason.CONNECTION_TIMEOUT)
            raise RequestTimedOutError from None


class _Fetcher(Fetcher):  # type: ignore[misc]
    """A fetcher that outlasts whatever brokers and networks send, and gathers records on request.

    in_columns: whether records come as `Columns`.
    wanted_at, period: where no partition is behind, brokers are asked at this time, and every so many seconds after
        it, by the monotonic clock; at once by default.
    """

    in_columns = False
    wanted_at = -math.inf
    period = 0.0
    _client: Any
    _fetch_max_wait_ms: int
    _usual_wait_ms = 0

    async def close(self) -> None:
        """Fetch no more."""
        self._closed = True
        # Again: while it waits for an exchange that it has cancelled itself, it takes ours for that of the exchange.
        while not self._fetch_task.done():
            self._fetch_task.cancel()
            await asyncio.wait([self._fetch_task], timeout=_SHORTEST_MS / 1_000)
        await super().close()

    def ask_offsets_aside(self) -> None:
        """Ask for offsets by a connection of their own from now on."""
        self._client = _OffsetsAside(self._client)

    def hurry(self) -> None:
        """Let brokers wait for records no longer than a moment, which grows while none come."""
        self._usual_wait_ms = self._usual_wait_ms or self._fetch_max_wait_ms
        self._fetch_max_wait_ms = _SHORTEST_MS

    async def fetched_records(
        self,
        partitions: Any,
        timeout: float = 0,  # noqa: ASYNC109  the parameter of aiokafka
        max_records: int | None = None,
    ) -> dict[TopicPartition, list[Any]]:
        """Return the next records of each partition as soon as there are any, or none after so many seconds.

        Raises:
            CannotParse: what comes next in a partition cannot be parsed. Nothing of the others is lost.
        """
        until = time.monotonic() + timeout
        while True:
            if self.in_columns:
                for _, result in self._results:
                    result.come_in_columns()
            drained: dict[TopicPartition, list[Any]] = await super().fetched_records(partitions, 0, max_records)
            for partition in drained.keys() & self._records.keys():
                # Those that were left out come first next time, however much this partition has.
                self._records.move_to_end(partition)
            # Also beside records, or a partition would wait for as long as the others have some.
            failed = self._fail(partitions)
            if drained or self._closed:
                return drained
            if failed:
                continue
            if self._fetch_task.done():
                self._fetch_task.result()
                raise KafkaError("what fetches records was cancelled")  # aiokafka would wait without end
            waiter = self._create_fetch_waiter()
            await asyncio.wait([waiter], timeout=max(0.0, until - time.monotonic()))
            if not waiter.done():
                waiter.cancel()
                return {}
            waiter.result()  # raises errors of the group

    def _fail(self, partitions: Any) -> bool:
        """Make errors of the fetches that have come to what cannot be parsed; return whether there are any."""
        failed = [
            partition
            for partition, result in self._results
            if result.failed and (not partitions or partition in partitions)
        ]
        for partition in failed:
            self._records[partition] = FetchError(error=CannotParse(partition), backoff=0)
        return bool(failed)

    def _set_error(self, tp: TopicPartition, error: Exception) -> None:
        if isinstance(error, RecordTooLargeError):
            # A broker sends the first batch whole, so its length is damaged. aiokafka would pass over a record.
            raise CorruptRecordException(str(error))
        super()._set_error(tp, error)

    async def _proc_fetch_request(self, *request: Any) -> bool:
        found = await self._outlast(super()._proc_fetch_request(*request))
        if not found and self._usual_wait_ms:
            _, _, asked = request
            partitions = sum(len(each) for _, each in asked.topics)
            longest_ms = max(self._usual_wait_ms, min(_PARTITION_MS * partitions, _LONGEST_MS))
            self._fetch_max_wait_ms = min(2 * self._fetch_max_wait_ms, longest_ms)
        # Nothing is found by an exchange that is cancelled either, which aiokafka keeps from being raised.
        if found and self.period and not self._is_behind:
            for waiter in list(self._fetch_waiters):
                self._notify(waiter)
            # Until then, the broker counts as being asked: no partition is fetched before the others.
            now = time.monotonic()
            late = max(0.0, now - self.wanted_at)
            with contextlib.suppress(asyncio.CancelledError):  # as aiokafka does, whose `close` awaits this
                await asyncio.sleep(self.wanted_at + self.period * math.ceil(late / self.period) - now)
        return found

    @property
    def _is_behind(self) -> bool:
        """Whether a fetch has brought so much of a partition that more of it waits."""
        return any(result.nbytes >= _BEHIND_BYTES for _, result in self._results)

    @property
    def _results(self) -> Iterator[tuple[TopicPartition, _Result]]:
        """The fetches that have brought records, as far as they are not drained."""
        return ((partition, found) for partition, found in self._records.items() if isinstance(found, _Result))

    async def _update_fetch_positions(self, *request: Any) -> bool:
        return await self._outlast(super()._update_fetch_positions(*request))

    async def _outlast(self, exchange: Awaitable[bool]) -> bool:
        """Await an exchange with a broker; one that comes to nothing begins again after a while."""
        try:
            return await exchange
        except asyncio.CancelledError:
            if not self._closed:
                raise
            return False  # `close` awaits what it cancels, which may be the pause after a failed exchange
        except Exception as error:  # noqa: BLE001  what a damaged response leads to is not known
            # Of the error only the type, since some have the response in them.
            log.warning("a response of a broker makes no sense, and is asked for again: %s", type(error).__name__)
            await asyncio.sleep(self._retry_backoff)
            return False


def mend_aiokafka() -> None:
    """Let all consumers of this process parse as this module says, and expand batches by `DECODERS`."""
    limit_aiokafka()
    fetcher_module.MemoryRecords = _Fetched
    fetcher_module.PartitionRecords = _Records
    fetcher_module.FetchResult = _Result
    consumer_module.Fetcher = _Fetcher
    consumer_module.GroupCoordinator = _Coordinator
