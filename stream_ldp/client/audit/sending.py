"""What left a client, and what of it may be seen beside the rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from stream_ldp.client.audit.seen import Log, frame_problems
from stream_ldp.collection import Collection
from stream_ldp.kafka.memory import MemoryBroker, Sent
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.settings import Settings
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from stream_ldp.pipeline.wire import HEADER_BYTES, RowFormat, decode
from stream_ldp.steps import done

#: A header's checksum covers the rows: what is seen around them begins after it.
_CHECKED_FROM = 8

#: Settings of the audited clients: the broker in memory takes the place of the one that they name.
SETTINGS = Settings(brokers="127.0.0.1:9092")

#: What is counted while an audit runs.
SENT = "batches of audited clients"

#: The time at which audits begin: 2024-01-01, 00:00 UTC.
START_MS = 1_704_067_200_000

#: The terms of users who agree to all that a collection asks.
AGREED = Terms(budget=math.inf, linked=True)

#: The most by which a ledger may charge too much, relative to the loss: it may charge what a file asks for, while the
#: mechanism's probabilities, multiples of 2^-32, lose a little less. And the rounding of doubles.
_OVERCHARGED = 1e-6
ROUNDING = 1e-12


def charged(path: Path, secret: bytes) -> float:
    """Return what a ledger's file has charged, in nats."""
    return PrivacyLedger.open(path, secret=secret).spending.epsilon


def mischarged(spent: float, owed: float, *, reports: int, more: float = _OVERCHARGED) -> Iterator[str]:
    """Yield how what a ledger has charged differs from the cost of the reports.

    more: the most by which it may be more, relative to the cost.
    """
    if not owed * (1 - ROUNDING) <= spent <= owed * (1 + more):
        yield f"after {reports} reports, the ledger has charged {spent!r} nats, not {owed!r}"


def broker_of(collection: Collection) -> MemoryBroker:
    """Return a broker in memory that has the topics of a collection, and its registration."""
    names = SETTINGS.topic_names
    topics = {names.reports(collection.name), names.rounds(collection.name), names.collections}
    broker = MemoryBroker(topics=topics, now_ms=START_MS)
    registered = Registration.of(collection)
    broker.put(names.collections, registered.value, key=registered.key)
    return broker


class ClientAudit:
    """A collection whose clients are audited, the client of the specification, and a broker that sees what is sent.

    log: all that is logged while the clients run.
    seen: the broker, with all that has left the clients.
    """

    def __init__(self, collection: Any, client: Any, directory: Path) -> None:
        """Begin, with nothing sent.

        client: of the same collection, written from the specification.
        directory: an empty one, for the files of the audit's users.
        """
        self._collection = collection
        self._client = client
        self._directory = directory
        self._users = itertools.count()
        self.log = Log()
        self.seen = broker_of(collection)

    def meaning(self) -> Iterator[str]:
        """Compare the collection with its file."""
        if self._collection.fingerprint != self._client.fingerprint:
            yield "the collection's fingerprint is not the one that the specification makes of its file"
        yield from self._client.excesses()

    @property
    def _fingerprints(self) -> set[bytes]:
        return {self._client.fingerprint}

    def frames(self, file: Mapping[str, Any]) -> Iterator[str]:
        """Look at everything but the rows of all that was sent."""
        return frame_problems(
            self.seen.sent,
            topic=SETTINGS.topic_names.reports(self._collection.name),
            window=file["window"],
            fingerprints=self._fingerprints,
        )

    def _ledger(self, secret: bytes, terms: Terms = AGREED) -> Path:
        path = self._directory / f"ledger-{next(self._users)}"
        PrivacyLedger.create(path, secret=secret, terms=terms)
        return path

    def _taken(self, broker: MemoryBroker) -> list[Sent]:
        """Keep what another broker has seen with the rest, and return it."""
        self.seen.producers += broker.producers
        self.seen.sent += broker.sent
        done(len(broker.sent), SENT)
        return broker.sent


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """All that can be seen of a record, but not what is in its rows, nor its batch id.

    others: what the producer was given beside key and value.
    at_ms, time_ms: when it was sent, and its event time.
    key: length of the key, and whether it is the batch id.
    header: of the batch, without checksum and batch id.
    """

    topic: str
    others: tuple[tuple[str, Any], ...]
    at_ms: int
    time_ms: int
    key: tuple[int, bool]
    length: int
    reports: int
    header: bytes

    def difference(self, other: Around) -> str | None:
        """Return the first of the things that differ, in words."""
        for each in fields(self):
            one, two = getattr(self, each.name), getattr(other, each.name)
            if one != two:
                return f"{_NAMES.get(each.name, each.name)} is {one} with one, and {two} with the other"
        return None


_NAMES = {"at_ms": "the time of sending", "time_ms": "the event time", "others": "what is sent beside key and value"}


def around(sent: Sequence[Sent], formats: Mapping[bytes, RowFormat]) -> list[Around]:
    """Return what can be seen around the rows of each record.

    Raises:
        ValueError: a record is not a batch that a worker takes.
    """
    decoded = decode([each.value for each in sent], formats=formats)
    if decoded.rejected:
        raise ValueError(f"workers would reject what was sent: {decoded.rejected[0]}")
    return [
        Around(
            topic=each.topic,
            others=each.others,
            at_ms=each.at_ms,
            time_ms=int(time_ms),
            key=(len(each.key or b""), each.key == batch_id),
            length=len(each.value),
            reports=int(count),
            header=each.value[_CHECKED_FROM:HEADER_BYTES].replace(batch_id, b""),
        )
        for each, batch_id, time_ms, count in zip(
            sent, decoded.batch_ids, decoded.time_ms, decoded.counts, strict=True
        )
    ]


def differences(first: Sequence[Around], second: Sequence[Around]) -> Iterator[str]:
    """Yield what can be seen of two users' records that differs."""
    if len(first) != len(second):
        yield f"{len(first)} batches are sent of one, and {len(second)} of the other"
    for number, (one, other) in enumerate(zip(first, second, strict=False), start=1):
        if (what := one.difference(other)) is not None:
            yield f"of batch {number}, {what}"


def rows_of(sent: Sequence[Sent], width: int) -> list[bytes]:
    """Return the rows of each record one after another, so many bytes each."""
    return [
        each.value[start : start + width] for each in sent for start in range(HEADER_BYTES, len(each.value), width)
    ]


def pseudonyms(broker: MemoryBroker) -> Iterator[str]:
    """Yield what lets the brokers store who has sent a batch."""
    for options in broker.producers:
        if options.get("enable_idempotence") or options.get("transactional_id"):
            yield "the producer is idempotent: each stored batch carries its producer id and a sequence number"
        if options.get("compression_type"):
            yield "batches are compressed: their size depends on what is in them"
