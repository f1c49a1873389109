"""This module makes dead letters of records that are passed over, with the reason and their place, and reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from stream_ldp.kafka.producer import Record
from stream_ldp.pipeline.content_type import DEAD_LETTER
from stream_ldp.pipeline.rejection import Reason, Rejected

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.quarantine import LogEntry, Unread

__all__ = ["DeadLetter", "Refused", "dead_letter", "unread_letter"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A record that is refused: its place, and its value as it came."""

    topic: str
    partition: int
    offset: int
    value: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """A dead letter as it is read.

    offset: its own place in the dead-letter topic.
    time_ms: when it was written, in milliseconds since 1970-01-01 UTC.
    topic, source_partition, source_offset: the place of what was refused.
    value: what was refused, as it came.
    """

    offset: int
    time_ms: int
    reason: Reason
    detail: str
    topic: str
    source_partition: int
    source_offset: int
    value: bytes

    @classmethod
    def of(cls, record: ConsumerRecord) -> Self:
        """Read a record of a dead-letter topic.

        Raises:
            ValueError: it is not a dead letter.
        """
        headers = {name: value.decode() for name, value in record.headers or () if value is not None}
        try:
            return cls(
                offset=record.offset,
                time_ms=record.timestamp,
                reason=Reason(headers["reason"]),
                detail=headers["detail"],
                topic=headers["source-topic"],
                source_partition=int(headers["source-partition"]),
                source_offset=int(headers["source-offset"]),
                value=record.value or b"",
            )
        except KeyError as missing:
            raise ValueError(f"there is no header {missing}") from None

    @property
    def place(self) -> tuple[str, int, int]:
        """The place of what was refused, the same in a letter that was written twice."""
        return self.topic, self.source_partition, self.source_offset


def dead_letter(record: Refused, why: Rejected, *, collection: Collection, topic: str) -> Record:
    """Make the dead letter of a refused record: its value as it came, and in headers the reason and the place.

    The key is that place, so that a letter that is written twice, by two owners of a partition, can be recognised.
    """
    return _letter(record, why, collection=collection, topic=topic)


def unread_letter(entry: LogEntry, unread: Unread, *, collection: Collection, topic: str) -> Record:
    """Make the dead letter of a record of the partials topic that cannot be read, as `dead_letter` does."""
    why = Rejected(Reason.UNREADABLE_RECORD, unread.why)
    return _letter(entry, why, collection=collection, topic=topic)


def _letter(record: LogEntry | Refused, why: Rejected, *, collection: Collection, topic: str) -> Record:
    headers = {
        "reason": why.reason.value,
        "detail": why.detail,
        "source-topic": record.topic,
        "source-partition": str(record.partition),
        "source-offset": str(record.offset),
        "collection": collection.name,
        "fingerprint": collection.fingerprint.hex(),
    }
    return Record(
        topic=topic,
        key=f"{record.topic}-{record.partition}-{record.offset}".encode(),
        value=record.value or b"",
        headers=(*DEAD_LETTER, *((name, text.encode()) for name, text in headers.items())),
    )
