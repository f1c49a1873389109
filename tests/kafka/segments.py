"""Read what a broker has stored: the record batches in its log segments, with all of their fields.

A consumer hides most of them. The layout is Kafka's record batch of magic 2, uncompressed
(kafka.apache.org/documentation/#recordbatch).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from stream_ldp.kafka.embedded import EmbeddedKafka

#: The fields of a record batch before its records.
_HEADER = struct.Struct(">qiibIhiqqqhii")

#: Bit of the attributes that says that the broker's clock has set the last time.
_LOG_APPEND_TIME = 1 << 3


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRecord:
    """A record as it is stored; time_delta is added to the first time of its batch, in milliseconds."""

    time_delta: int
    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBatch:
    """A record batch as it is stored; times are in milliseconds since 1970-01-01 UTC."""

    attributes: int
    first_time_ms: int
    last_time_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: tuple[StoredRecord, ...]

    @property
    def has_append_time(self) -> bool:
        """True if the broker's clock has set the last time."""
        return bool(self.attributes & _LOG_APPEND_TIME)


def stored_batches(broker: EmbeddedKafka, topic: str, *, partitions: int) -> list[StoredBatch]:
    """Read the first segment of each partition of a topic."""
    found: list[StoredBatch] = []
    for partition in range(partitions):
        segment = broker.data / "log" / f"{topic}-{partition}" / f"{0:020}.log"
        found += _batches(segment.read_bytes())
    return found


def _batches(segment: bytes) -> Iterator[StoredBatch]:
    place = 0
    while place < len(segment):
        (_, length, _, magic, _, attributes, _, first, last, producer, epoch, sequence, count) = _HEADER.unpack_from(
            segment, place
        )
        assert (magic, attributes & 0b111) == (2, 0), "an uncompressed batch of magic 2"
        yield StoredBatch(
            attributes=attributes,
            first_time_ms=first,
            last_time_ms=last,
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence,
            records=tuple(_records(_Cursor(segment, place + _HEADER.size), count)),
        )
        place += 12 + length


def _records(cursor: _Cursor, count: int) -> Iterator[StoredRecord]:
    for _ in range(count):
        cursor.varint()  # length
        cursor.take(1)  # attributes
        time_delta = cursor.varint()
        cursor.varint()  # offset
        key, value = cursor.take(cursor.varint()), cursor.take(cursor.varint())
        headers = tuple(
            (cursor.take(cursor.varint()).decode(), cursor.take(cursor.varint())) for _ in range(cursor.varint())
        )
        yield StoredRecord(time_delta=time_delta, key=key, value=value, headers=headers)


class _Cursor:
    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._place = place

    def take(self, count: int) -> bytes:
        self._place += count
        return self._data[self._place - count : self._place]

    def varint(self) -> int:
        """Read a zigzag-coded number of variable length."""
        number = shift = 0
        while True:
            (byte,) = self.take(1)
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
