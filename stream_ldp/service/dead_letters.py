"""What becomes of a batch that is refused: it is written beside the reports, with the reason and its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.kafka.producer import Record

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.rejection import Rejected

__all__ = ["dead_letter"]


def dead_letter(record: ConsumerRecord, why: Rejected, *, collection: Collection, topic: str) -> Record:
    """The dead letter of a refused record: its value as it came, and in headers why it was refused and where it is.

    The key is that place, so that a letter that is written twice, by two owners of a partition, can be told.
    """
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
