"""Make dead letters of records that are passed over, with the reason and their place, and read them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Self

from stream_ldp.kafka.producer import Record
from stream_ldp.pipeline.content_type import DEAD_LETTER
from stream_ldp.pipeline.rejection import Reason, Rejected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aiokafka import ConsumerRecord

    from stream_ldp.collection import Collection

#: Most bytes of a value that a letter carries: as much as brokers take of a batch by default. A few hundred bytes may
#: be a value of megabytes, compressed, which would fill the disk, or be more than a worker may write.
MAX_VALUE_BYTES = 2**20

#: Most records that are refused alike, of one turn of a worker. A forged number must not fill a reader's memory.
MAX_ALIKE = 2**16


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A record that is refused: its place, and its value as it came.

    count: number of records that are refused alike, at this offset and the next ones.
    """

    topic: str
    partition: int
    offset: int
    value: bytes | None
    count: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """A dead letter as it is read.

    offset: its own place in the dead-letter topic.
    time_ms: when it was written, in milliseconds since 1970-01-01 UTC.
    topic, source_partition, source_offset: the place of what was refused.
    count: number of records that were refused alike, at this offset and the next ones.
    value: what was refused, as it came, the first of them; None if it is too long for a letter.
    value_bytes: its length.
    """

    offset: int
    time_ms: int
    reason: Reason
    detail: str
    topic: str
    source_partition: int
    source_offset: int
    count: int
    value: bytes | None
    value_bytes: int

    @classmethod
    def of(cls, record: ConsumerRecord) -> Self:
        """Read a record of a dead-letter topic.

        Raises:
            ValueError: it is not a dead letter.
        """
        headers = {name: value.decode() for name, value in record.headers or () if value is not None}
        value = record.value or b""
        try:
            count = int(headers.get("count", 1))
            if not 1 <= count <= MAX_ALIKE:
                raise ValueError(f"it stands for {count} records")
            return cls(
                offset=record.offset,
                time_ms=record.timestamp,
                reason=Reason(headers["reason"]),
                detail=headers["detail"],
                topic=headers["source-topic"],
                source_partition=int(headers["source-partition"]),
                source_offset=int(headers["source-offset"]),
                count=count,
                value=None if "value-length" in headers else value,
                value_bytes=int(headers.get("value-length", len(value))),
            )
        except KeyError as missing:
            raise ValueError(f"there is no header {missing}") from None

    @property
    def run(self) -> tuple[tuple[str, int], int, int]:
        """Topic and partition of what was refused, its first offset, and the one behind its last."""
        return (self.topic, self.source_partition), self.source_offset, self.source_offset + self.count

    @property
    def places(self) -> set[tuple[str, int, int]]:
        """The places of what was refused, each a topic, partition and offset."""
        place, begin, end = self.run
        return {(*place, offset) for offset in range(begin, end)}


def refused_of(
    topic: str,
    partition: int,
    offsets: Sequence[int],
    values: Sequence[bytes | None],
    rejected: Sequence[tuple[int, Rejected]],
) -> Iterator[tuple[Refused, Rejected]]:
    """Yield what is refused of the records of a partition, those alike together, with the rejection of the first.

    Records are alike that follow each other, are refused for the same reason, and have the same value or one that
    cannot count later either: a compressed batch may have hundreds of thousands of them.

    offsets, values: of all records, in the order of the log.
    rejected: (index of the record, rejection), in the same order.
    """

    def alike(place: int) -> tuple[int, Reason, bytes | None]:
        index, why = rejected[place]
        return offsets[index] - place, why.reason, values[index] if why.reason.curable else None

    for _, run in groupby(range(len(rejected)), key=alike):
        first, *others = run
        index, why = rejected[first]
        count = 1 + len(others)
        yield Refused(topic=topic, partition=partition, offset=offsets[index], value=values[index], count=count), why


def dead_letter(record: Refused, why: Rejected, *, collection: Collection, topic: str) -> Record:
    """Make the dead letter of a refused record: its value as it came, and in headers the reason and the place.

    A value of more than MAX_VALUE_BYTES is left out; its length and SHA-256 are in headers. The key is the place, so
    that a letter that is written twice, by two owners of a partition, can be recognised.
    """
    value = record.value or b""
    headers = {
        "reason": why.reason.value,
        "detail": why.detail,
        "source-topic": record.topic,
        "source-partition": str(record.partition),
        "source-offset": str(record.offset),
        "collection": collection.name,
        "fingerprint": collection.fingerprint.hex(),
    }
    if record.count > 1:
        headers["count"] = str(record.count)
    if len(value) > MAX_VALUE_BYTES:
        headers |= {"value-length": str(len(value)), "value-sha256": hashlib.sha256(value).hexdigest()}
        value = b""
    return Record(
        topic=topic,
        key=f"{record.topic}-{record.partition}-{record.offset}".encode(),
        value=value,
        headers=(*DEAD_LETTER, *((name, text.encode()) for name, text in headers.items())),
    )
