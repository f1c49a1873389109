"""Keep the registry: a compacted topic that holds what each collection's name means.

Every producer and worker of a name has to agree on the meaning of a report. A name is registered once, and its
fingerprint never changes; windows and estimates may, while it is paused, so that nobody counts it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.connection import BrokerUnreachable
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.topics import MAX_RECORD_BYTES
from stream_ldp.pipeline.content_type import REGISTRATION
from stream_ldp.pipeline.retirement import Retirement
from stream_ldp.printable import printable

if TYPE_CHECKING:
    from collections.abc import Collection as Container
    from collections.abc import Iterator, Mapping, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings

log = logging.getLogger(__name__)

#: Version of the records; a later one has to be in the record, as its `version`.
VERSION = 1

#: Value of a record that says that a name is registered no more.
REMOVED = b'{"removed": true}'

#: What to do about a conflict.
NEW_NAME = "a name never changes its meaning: give this version of the collection a new name, in its first line"

#: Seconds to read or write the registry: it takes milliseconds, but a broker may just have been lost.
TIMEOUT_SECONDS = 30.0

#: The most characters of a value in a message.
MAX_SHOWN = 120


class RegistryError(BrokerUnreachable):
    """The registry cannot be read, or written, in time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Registration:
    """A registration holds what one name means.

    fingerprint: the collection's fingerprint, which changes with the meaning of a report.
    document: the whole collection, as plain data.
    paused: whether nobody may count it now, since it is being changed.
    retirement: where its log ends, if it is retired.
    """

    name: str
    fingerprint: bytes
    document: Mapping[str, Any]
    paused: bool = False
    retirement: Retirement | None = None

    @classmethod
    def of(cls, collection: Collection) -> Self:
        """Make the registration of a collection."""
        return cls(name=collection.name, fingerprint=collection.fingerprint, document=collection.document)

    @classmethod
    def from_record(cls, key: bytes | None, value: bytes | None) -> Self:
        """Read a record, the inverse of `key` and `value`.

        Raises:
            ValueError: it is anything else.
        """
        if key is None or value is None:
            raise ValueError("it lacks a key or a value")
        try:
            content = json.loads(value)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        match content:
            case {"version": version} if version != VERSION:
                raise ValueError(f"it has version {version}, this release reads {VERSION}")
            case {"fingerprint": str(fingerprint), "document": dict(document)}:
                if document.get("collection") != key.decode():
                    # One collection under two names would be counted by two, each of which takes the other's reports.
                    raise ValueError("its key is not the name in its document")
                retired = content.get("retired")
                return cls(
                    name=key.decode(),
                    fingerprint=bytes.fromhex(fingerprint),
                    document=document,
                    paused=content.get("paused") is True,
                    retirement=None if retired is None else Retirement.of_fields(retired),
                )
        raise ValueError("it is no object with a fingerprint and a document")

    @property
    def key(self) -> bytes:
        """Key of the record."""
        return self.name.encode()

    @property
    def value(self) -> bytes:
        """Value of the record, JSON."""
        content: dict[str, Any] = {"fingerprint": self.fingerprint.hex(), "document": self.document}
        if self.paused:
            content["paused"] = True
        if self.retirement is not None:
            content["retired"] = self.retirement.fields
        return json.dumps(content).encode()

    @property
    def state(self) -> str:
        """Whether it is counted, in a word."""
        if self.paused:
            return "paused"
        return "served" if self.retirement is None else "retired"

    def differences(self, here: Registration) -> str:
        """Describe the differences between this registration and another of the same name."""
        registered, other = dict(_leaves(self.document)), dict(_leaves(here.document))
        paths = [*registered, *(path for path in other if path not in registered)]
        return ", ".join(
            f"{printable(path)} ({_both(registered.get(path, 'none'), other.get(path, 'none'))})"
            for path in paths
            if registered.get(path) != other.get(path)
        )

    def conflict(self, here: Registration) -> str:
        """Describe the conflict with a registration that gives the name another meaning."""
        return (
            f"collection {here.name} is registered with fingerprint {self.fingerprint.hex()}, this one has "
            f"{here.fingerprint.hex()}: {self.differences(here) or 'the same file, read by another release'}"
        )


def require_registry(settings: Settings, existing: Container[str]) -> None:
    """Require that the registry is among the topics that exist.

    Raises:
        RegistryError: it is not.
    """
    topic = settings.topic_names.collections
    if topic not in existing:
        raise RegistryError(
            f"topic {topic} does not exist, or this user may not describe it: no collection is registered\n"
            f"  -> register one: stream-ldp topics create FILE {settings.flags()}"
        )


async def read_registration(settings: Settings, name: str) -> Registration | None:
    """Read what one name is registered as; a warning names a record of it that is no registration.

    Returns:
        The registration; None if there is none, or if this user may not read the registry.

    Raises:
        RegistryError: the topic cannot be read, or not in time.
    """
    topic = settings.topic_names.collections
    log, key = LogReader(topic, settings=settings), name.encode()
    found = None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), log.opened(check=partial(_require, topic)) as reader:
            async for record in reader.read_to_end():
                if record.key == key:
                    found = None if record.value == REMOVED else _registration(record) or found
    except (_NotToBeSeen, TopicAuthorizationFailedError):
        return None
    except TimeoutError as error:
        raise RegistryError(f"topic {topic} could not be read in {TIMEOUT_SECONDS:.0f} s") from error
    except KafkaError as error:
        raise RegistryError(f"topic {topic} could not be read: {error}") from error
    return found


class _NotToBeSeen(StreamLDPError, RuntimeError):
    """The registry does not exist, or is hidden from this user."""


def _require(topic: str, existing: Container[str]) -> None:
    if topic not in existing:
        raise _NotToBeSeen


async def register(settings: Settings, registrations: Sequence[Registration], *, removed: Sequence[str] = ()) -> None:
    """Write registrations, whatever was registered before; the caller has checked for conflicts.

    removed: names that are registered no more, since nobody can read what they are registered as.

    Raises:
        RegistryError: they were not written in time.
        KafkaError: the brokers do not take one.
    """
    topic = settings.topic_names.collections
    producer = Producer(
        settings, idempotent=False, max_record_bytes=MAX_RECORD_BYTES, acknowledge_seconds=TIMEOUT_SECONDS
    )
    await producer.start()
    try:
        written = [(each.key, each.value) for each in registrations] + [(name.encode(), REMOVED) for name in removed]
        await producer.publish(
            Record(topic=topic, key=key, value=value, partition=0, headers=REGISTRATION) for key, value in written
        )
    except TimeoutError as error:
        raise RegistryError(f"topic {topic} could not be written in {TIMEOUT_SECONDS:.0f} s") from error
    finally:
        # All is acknowledged, or no broker accepts it: then `stop` might wait forever.
        await producer.abandon()


def _registration(record: Any) -> Registration | None:
    try:
        return Registration.from_record(record.key, record.value)
    except ValueError as error:
        log.warning(
            "offset %d of topic %s is not a registration, and is passed over: %r; to have it replaced, run "
            "`stream-ldp topics create` with the file of collection %r",
            *(record.offset, record.topic, error, (record.key or b"").decode(errors="replace")),
        )
        return None


def _both(one: str, other: str) -> str:
    """Show two values, long ones from where they begin to differ: a collection may name very many items."""
    same = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    begin = 0 if max(len(one), len(other)) <= MAX_SHOWN else max(0, same - MAX_SHOWN // 4)
    return f"registered: {_cut(one, begin)}; here: {_cut(other, begin)}"


def _cut(text: str, begin: int) -> str:
    end = begin + MAX_SHOWN
    return printable(f"{'...' if begin else ''}{text[begin:end]}{'...' if end < len(text) else ''}")


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every part of a document with its path, parts of a list under their names."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and all(isinstance(part, dict) and "name" in part for part in value):
        yield path, ", ".join(str(part["name"]) for part in value)
        for part in value:
            yield from _leaves({k: v for k, v in part.items() if k != "name"}, f"{path}.{part['name']}")
    elif isinstance(value, list):
        yield path, ", ".join(map(str, value))
    else:
        yield path, str(value)
