"""This module turns a record that is passed over into a dead letter, which holds the reason and its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.kafka.producer import Record
from stream_ldp.pipeline.rejection import Reason, Rejected

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.quarantine import LogEntry, Unread

__all__ = ["dead_letter", "unread_letter"]


def dead_letter(record: ConsumerRecord, why: Rejected, *, collection: Collection, topic: str) -> Record:
    """Make the dead letter of a refused record: its value as it came, and in headers the reason and the place.

    The key is that place, so that a letter that is written twice, by two owners of a partition, can be recognised.
    """
    return _letter(record, why, collection=collection, topic=topic)


def unread_letter(entry: LogEntry, unread: Unread, *, collection: Collection, topic: str) -> Record:
    """Make the dead letter of a record of the partials topic that cannot be read, as `dead_letter` does."""
    why = Rejected(Reason.UNREADABLE_RECORD, unread.why)
    return _letter(entry, why, collection=collection, topic=topic)


def _letter(record: LogEntry | ConsumerRecord, why: Rejected, *, collection: Collection, topic: str) -> Record:
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
        headers=tuple((name, text.encode()) for name, text in headers.items()),
    )
