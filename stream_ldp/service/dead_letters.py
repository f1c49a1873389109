"""This module turns a refused batch into a dead letter, which holds the reason and the batch's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.kafka.producer import Record

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.rejection import Rejected

__all__ = ["dead_letter"]


def dead_letter(record: ConsumerRecord, why: Rejected, *, collection: Collection, topic: str) -> Record:
    """Make the dead letter of a refused record: its value as it came, and in headers the reason and the place.

    The key is that place, so that a letter that is written twice, by two owners of a partition, can be recognised.
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
