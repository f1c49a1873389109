"""This module has the consumers of the service, which read on whatever the records hold."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer.fetcher import FetchResult

from stream_ldp.kafka.decompression import MAX_EXPANDED_BYTES, turn_of
from stream_ldp.kafka.fetching import CannotParse, mend_aiokafka
from stream_ldp.kafka.unreadable import read_past

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

__all__ = ["QuickConsumer", "SturdyConsumer"]

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
        self._reading: asyncio.Task[list[ConsumerRecord]] | None = None
        # Records that it has read, and that are still to be given; of one partition.
        self._read_past: deque[ConsumerRecord] = deque()

    async def stop(self) -> None:
        """Disconnect."""
        self._give_up_reading()
        await super().stop()

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[Any]]:
        """Return the next records of each partition, as aiokafka does; one may be an `UnreadableRecord`."""
        with turn_of(self._most_expanded):
            if self._reading is None and not self._read_past:
                try:
                    fetched: dict[TopicPartition, list[Any]] = await super().getmany(
                        *partitions, timeout_ms=timeout_ms, max_records=max_records
                    )
                except CannotParse as error:
                    self._reading = asyncio.ensure_future(read_past(error, self))
                else:
                    return fetched
            await self._finish_reading()
        return self._given(max_records)

    async def getone(self, *partitions: TopicPartition) -> Any:
        """Wait for the next record, and return it, as aiokafka does; it may be an `UnreadableRecord`."""
        with turn_of(self._most_expanded):
            while True:
                await self._finish_reading()
                for records in self._given(1).values():
                    return records[0]
                try:
                    return await super().getone(*partitions)
                except CannotParse as error:
                    self._reading = asyncio.ensure_future(read_past(error, self))

    async def _finish_reading(self) -> None:
        """Wait for what reads past a failure, if anything does, and go on behind it."""
        if self._reading is None:
            return
        # A caller who does not wait so long finds it again.
        read = await asyncio.shield(self._reading)
        self._reading = None
        if read and _place(read[0]) in self.assignment():
            super().seek(_place(read[-1]), read[-1].offset + 1)
            self._read_past.extend(read)

    def _give_up_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    async def position(self, partition: TopicPartition) -> int:
        """Return the offset of the record that is given next."""
        if self._read_past and _place(self._read_past[0]) == partition:
            return int(self._read_past[0].offset)
        return int(await super().position(partition))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at an offset."""
        self._give_up_reading()  # Of another partition, it begins again.
        if self._read_past and _place(self._read_past[0]) == partition:
            self._read_past.clear()
        super().seek(partition, offset)

    def _given(self, most: int | None) -> dict[TopicPartition, list[Any]]:
        """Give records that have been read past, at most so many."""
        if not self._read_past:
            return {}
        partition = _place(self._read_past[0])
        if partition not in self.assignment():  # It has gone to another member, which reads them itself.
            self._read_past.clear()
            return {}
        count = len(self._read_past) if most is None else min(most, len(self._read_past))
        return {partition: [self._read_past.popleft() for _ in range(count)]}


class QuickConsumer(SturdyConsumer):
    """A sturdy consumer that may give records as aiokafka's parser made them.

    They have an offset, timestamp, key, value and headers. The `ConsumerRecord`, to which aiokafka copies each of
    them, has their topic and partition too, and takes half of the time of a fetch.
    """

    async def getmany(self, *partitions: Any, **options: Any) -> dict[Any, list[Any]]:
        """Return the next records of each partition, as aiokafka does."""
        for result in self._fetcher._records.values():
            if isinstance(result, FetchResult) and result.has_more():
                result._partition_records._consumer_record = _as_parsed
        return await super().getmany(*partitions, **options)


def _as_parsed(_: Any, record: Any) -> Any:
    return record


def _place(record: ConsumerRecord) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)
