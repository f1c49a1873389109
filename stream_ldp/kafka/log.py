"""Read one partition as a log: by its offsets, from a chosen place, to its end or without end."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError

from stream_ldp.kafka.consumer import SturdyConsumer
from stream_ldp.kafka.decompression import MAX_EXPANDED_BYTES
from stream_ldp.kafka.memory import CONNECTED, MemoryConsumer
from stream_ldp.steps import share

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from collections.abc import Collection as Container

    from aiokafka import ConsumerRecord

    from stream_ldp.kafka.settings import Settings

log = logging.getLogger(__name__)

#: A final answer is written in a transaction: of one that was not completed, another worker has written the final.
#: Reports count as soon as they are on the log: a client's open transaction would hold up those of all others.
COMMITTED, AS_WRITTEN = "read_committed", "read_uncommitted"

#: Longest wait, in milliseconds, for records of a log that is read to its end.
POLL_MS = 200

#: The most records of one turn on the way to the end. A turn of a rebuild keeps the event loop for about 20 ms.
MAX_RECORDS = 1_000


async def existing_topics(settings: Settings) -> Container[str]:
    """Return the names of all topics that this user may describe.

    Raises:
        KafkaError: the brokers cannot be used.
    """
    consumer = _consumer(settings)
    try:
        await consumer.start()
        found: Container[str] = await consumer.topics()
        return found
    finally:
        await consumer.stop()


def _consumer(settings: Settings, *, group_id: str | None = None, **options: Any) -> Any:
    """Return a consumer of the brokers, or of the broker in memory to which the caller is connected."""
    broker = CONNECTED.get()
    if broker is not None:
        return MemoryConsumer(broker)
    return SturdyConsumer(**settings.client_options(), group_id=group_id, enable_auto_commit=False, **options)


class LogReader:
    """A log reader reads one partition.

    Without a group it gets every record and changes nobody's position. In a group, one member at a time reads, from
    the position that the group has committed.
    """

    def __init__(
        self,
        topic: str,
        *,
        settings: Settings,
        partition: int = 0,
        group: str | None = None,
        from_beginning: bool = True,
        isolation: str = COMMITTED,
        most_expanded: int = MAX_EXPANDED_BYTES,
    ) -> None:
        """Prepare for one partition.

        from_beginning: begin with the oldest record, not with the next one; a group does so only the first time.
        isolation: COMMITTED, or AS_WRITTEN to read what is in transactions that were not completed, too.
        most_expanded: bytes to which a compressed batch may expand; see `Turn`.
        """
        self._isolation = isolation
        self._partition = TopicPartition(topic, partition)
        self._settings = settings
        self._group = group
        self._from_beginning = from_beginning
        self._most_expanded = most_expanded
        self._consumer: Any = None

    async def start(
        self, *, check: Callable[[Container[str]], None] | None = None, since_ms: int | None = None
    ) -> None:
        """Connect and find the place to begin.

        check: called with the names of all topics before this one is asked for, since aiokafka waits without end for
            a topic that does not exist. What it raises ends the start.
        since_ms: begin with the first record of this time or later, milliseconds since 1970-01-01 UTC.

        Raises:
            KafkaError: the brokers cannot be used.
        """
        self._consumer = _consumer(
            self._settings,
            most_expanded=self._most_expanded,
            group_id=self._group,
            auto_offset_reset="earliest" if self._from_beginning else "latest",
            isolation_level=self._isolation,
        )
        try:
            await self._consumer.start()
            if check is not None:
                check(await self._consumer.topics())
            if self._group is not None:
                self._consumer.subscribe([self._partition.topic])
                return
            self._consumer.assign([self._partition])
            # Seek at once, not with the first fetch: a record that is written in between would be missed. Seek to an
            # offset: aiokafka's seek_to_end can lose against the reset to the beginning that an assignment starts.
            if since_ms is not None:
                await self.seek_since(since_ms)
            elif not self._from_beginning:
                self._consumer.seek(self._partition, await self.end())
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Disconnect; may be called twice, or without a start."""
        if self._consumer is not None:
            await self._consumer.stop()

    @asynccontextmanager
    async def opened(
        self, *, check: Callable[[Container[str]], None] | None = None, since_ms: int | None = None
    ) -> AsyncIterator[Self]:
        """Read within a block, from the place that `start` finds with these arguments.

        Raises:
            KafkaError: the brokers cannot be used.
        """
        await self.start(check=check, since_ms=since_ms)
        try:
            yield self
        finally:
            await self.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def seek(self, offset: int, *, read_to: int = 0) -> bool:
        """Read on at an offset, or from the oldest record on if the log does not reach from there.

        read_to: offset up to which it has been read, if that is later.

        Returns:
            Whether it has kept all that was read; if it has lost some, that is logged.
        """
        read_to = max(offset, read_to)
        beginnings = await self._consumer.beginning_offsets([self._partition])
        beginning, end = beginnings[self._partition], await self.end()
        if read_to > end:
            end = await self.end()  # Asked again: no checksum covers an answer.
        if read_to > end:
            log.error(
                "%s partition %d ends at offset %d, and was read up to %d: it was made again, or brokers have lost "
                "its end (a power failure, or an unclean election?); what was there is not written again; to compute "
                "finals from the reports, run stream-ldp replay",
                *(self._partition.topic, self._partition.partition, end, read_to),
            )
        self._consumer.seek(self._partition, offset if beginning <= offset <= end else beginning)
        return read_to <= end

    async def end(self) -> int:
        """Return the offset of the record that is written next."""
        ends = await self._consumer.end_offsets([self._partition])
        return int(ends[self._partition])

    async def partitions(self) -> list[int]:
        """Return the numbers of all partitions of the topic."""
        await self.end()
        return sorted(self._consumer.partitions_for_topic(self._partition.topic) or ())

    async def position(self) -> int:
        """Return the offset of the record that is read next."""
        return int(await self._consumer.position(self._partition))

    async def read_to_end(self) -> AsyncIterator[ConsumerRecord]:
        """Yield the records from here to the present end of the log and perhaps a few that came since, none twice."""
        async for records in self.turns_to_end():
            for record in records:
                yield record

    async def turns_to_end(self) -> AsyncIterator[list[ConsumerRecord]]:
        """Yield the same records, as many at a time as have come."""
        # Asked twice, and again where nothing comes: no checksum covers an answer, and one that is damaged on its way
        # would end the reading too early or never.
        end, done = max(await self.end(), await self.end()), await self.position()
        with share(f"records of {self._partition.topic}", end - done) as advance:
            while (position := await self.position()) < end:
                advance(position - done)
                done = position
                if records := await self.fetch(timeout_ms=POLL_MS, max_records=MAX_RECORDS):
                    yield records
                else:
                    end = min(end, await self.end())

    async def fetch(self, *, timeout_ms: int, max_records: int | None = None) -> list[ConsumerRecord]:
        """Return the next records as soon as there are any, or none after so many milliseconds.

        One that cannot be read is an `UnreadableRecord`.
        """
        fetched = await self._consumer.getmany(self._partition, timeout_ms=timeout_ms, max_records=max_records)
        return list(fetched.get(self._partition, ()))

    async def next(self) -> ConsumerRecord:
        """Wait for the next record, however long it takes to come, and return it, as `fetch` does."""
        return await self._consumer.getone()

    async def next_before(self, end: int) -> ConsumerRecord | None:
        """Return the next record before an offset that the log has reached, as `fetch` does; None if there is none.

        A log may end with marks of transactions, and with records of one that was given up. The position passes
        them, but a wait for a record would have no end.
        """
        while await self.position() < end:
            for record in await self.fetch(timeout_ms=POLL_MS, max_records=1):
                return record
        return None

    async def commit(self, offset: int) -> None:
        """Let the group go on at this offset.

        Nothing happens if the partition has gone to another member by now; it begins at the last commit.
        """
        with suppress(CommitFailedError, IllegalStateError):
            await self._consumer.commit({self._partition: offset})

    async def seek_since(self, time_ms: int, *, end: int | None = None) -> int:
        """Go on at the first record of this time or later, and return its offset; at the end if there is none.

        Brokers name the offset that the producer wrote into the record, be it of another record or of none. So what
        is there and what is before it have to agree with the time; where they do not, halving finds the place.

        time_ms: milliseconds since 1970-01-01 UTC.
        end: look only before this offset, and take it for the end.
        """
        named = (await self._consumer.offsets_for_times({self._partition: max(0, time_ms)}))[self._partition]
        low = (await self._consumer.beginning_offsets([self._partition]))[self._partition]
        last = await self.end()
        end = last if end is None else end
        high, found = min(last, end), False
        guesses = [high - 1] if named is None else [named.offset - 1, named.offset]
        while low < high:
            guess = guesses.pop() if guesses else (low + high) // 2
            place = min(max(low, guess), high - 1)
            self._consumer.seek(self._partition, place)
            record = await self.next_before(high)
            if record is not None and record.timestamp < time_ms:
                low = min(record.offset + 1, high)
            else:
                high = place
                found |= record is not None and record.offset < end
        place = low if found else end
        self._consumer.seek(self._partition, place)
        return place
