"""The consumers of the service, which read on whatever the records hold."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from stream_ldp.kafka.columns import Columns
from stream_ldp.kafka.decompression import MAX_EXPANDED_BYTES, turn_of
from stream_ldp.kafka.fetching import CannotParse, mend_aiokafka
from stream_ldp.kafka.unreadable import faults_of, read_past

mend_aiokafka()


class SturdyConsumer(AIOKafkaConsumer):  # type: ignore[misc]
    """A consumer that reads past what cannot be read, and expands a bounded number of bytes a turn."""

    def __init__(self, *topics: str, most_expanded: int = MAX_EXPANDED_BYTES, **options: Any) -> None:
        """Prepare to read.

        most_expanded: bytes to which a compressed batch may expand; see `Turn`.
        """
        super().__init__(*topics, **options)
        self._most_expanded = most_expanded
        # What reads past a failure, be it for longer than one call of `getmany` lasts.
        self._reading: asyncio.Task[Iterator[ConsumerRecord]] | None = None
        # The records that it reads, until there are no more.
        self._read_past: Iterator[ConsumerRecord] = iter(())

    async def start(self) -> None:
        """Connect."""
        await super().start()
        self._fetcher.ask_offsets_aside()

    async def stop(self) -> None:
        """Disconnect."""
        self._give_up_reading()
        await super().stop()

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, Any]:
        """Return the next records of each partition, as aiokafka does; one may be an `UnreadableRecord`."""
        with turn_of(self._most_expanded):
            found = await self._past(max_records)
            if not found:
                try:
                    fetched: dict[TopicPartition, Any] = await super().getmany(
                        *partitions, timeout_ms=timeout_ms, max_records=max_records
                    )
                except CannotParse as error:
                    self._reading = asyncio.ensure_future(read_past(error, self))
                    found = await self._past(max_records)
                else:
                    return fetched
            return {_place(found[0]): self._given(found)} if found else {}

    async def getone(self, *partitions: TopicPartition) -> Any:
        """Wait for the next record, and return it, as aiokafka does; it may be an `UnreadableRecord`."""
        while True:
            with turn_of(self._most_expanded):
                for record in await self._past(1):
                    return record
                try:
                    return await super().getone(*partitions)
                except CannotParse as error:
                    self._reading = asyncio.ensure_future(read_past(error, self))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at an offset."""
        self._give_up_reading()  # Of another partition, it begins again.
        super().seek(partition, offset)

    def _given(self, records: Sequence[ConsumerRecord]) -> Any:
        """Return records that are read past a failure as all others are given."""
        return records

    async def _past(self, most: int | None) -> list[ConsumerRecord]:
        """Return the next records that are read past a failure, at most so many, and go on behind them."""
        if (reading := self._reading) is not None:
            # A caller who does not wait so long finds it again. Another's seek cancels it, not the reader who waits:
            # the collection of a reader that ended so in silence was counted no more.
            await asyncio.wait([reading])
            if reading is self._reading:
                self._reading = None
                self._read_past = reading.result()
        found = list(islice(self._read_past, most))
        if found and _place(found[0]) not in self.assignment():
            found = []  # It has gone to another member, which reads them itself.
        if found:
            super().seek(_place(found[-1]), found[-1].offset + 1)
        else:
            self._give_up_reading()
        return found

    def _give_up_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._reading, self._read_past = None, iter(())


class ColumnConsumer(SturdyConsumer):
    """A sturdy consumer that gives the records of each partition as `Columns`.

    The `ConsumerRecord`, to which aiokafka copies each record, takes half of the time of a fetch.
    """

    async def start(self) -> None:
        """Connect."""
        await super().start()
        self._fetcher.in_columns = True

    def gather(self, *, seconds: float, period: float) -> None:
        """Let what comes gather at the brokers for so long, and then again and again, unless a partition is behind.

        period: seconds from one time at which it is fetched to the next, positive.
        """
        self._fetcher.wanted_at, self._fetcher.period = time.monotonic() + seconds, period

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at an offset, soon."""
        super().seek(partition, offset)
        self._fetcher.hurry()

    def place_of(self, partition: TopicPartition) -> int | None:
        """Return the offset behind all records handed over, and marks of transactions; None if it is unknown."""
        assigned = self._subscription.subscription and self._subscription.subscription.assignment
        state = assigned and assigned.state_value(partition)
        return state.position if state and state.has_valid_position else None

    def look_every(self, milliseconds: int) -> None:
        """Look as often at what partitions its topics have, from the next look on."""
        self._client._metadata_max_age_ms = milliseconds

    def _given(self, records: Sequence[ConsumerRecord]) -> Any:
        return Columns.of(records, faults=faults_of(records))


def _place(record: ConsumerRecord) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)
