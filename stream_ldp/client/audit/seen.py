"""What is seen while clients run: records as the brokers take them, the system's randomness, and the log."""

import logging
import os
import re
from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from stream_ldp.audit.wire.batch import read, rounded_time
from stream_ldp.audit.wire.notation import Unspecified
from stream_ldp.kafka.memory import Sent

#: The headers of a record, section 7 of docs/wire.md.
_HEADERS = [("content-type", b"application/vnd.sldp.batch;v=1")]

_ID_BYTES = 16

#: Names of what a producer may be given beside topic, key and value.
_OTHERS = {"headers", "timestamp_ms"}

#: Numbers that differ from run to run, such as seconds that something took.
_MEASURED = re.compile(r"\d+\.\d+|0x[0-9a-f]+")


def frame_problems(
    sent: Sequence[Sent], *, topic: str, window: Mapping[str, Any], fingerprints: Container[bytes]
) -> Iterator[str]:
    """Yield where a record has another form than sections 6 and 7 of docs/wire.md give it, or more than they do."""
    for record in sent:
        try:
            batch = read(record.value)
        except Unspecified as problem:
            yield str(problem)
            continue
        others = dict(record.others)
        expected_ms = rounded_time(window, record.at_ms)
        if record.topic != topic:
            yield f"a record is sent to {record.topic}"
        if batch.fingerprint not in fingerprints:
            yield "a batch carries a fingerprint that the file does not have"
        if record.key != batch.batch_id or len(batch.batch_id) != _ID_BYTES:
            yield "the key of a record is not its batch id"
        if batch.time_ms != expected_ms:
            yield f"the event time of a batch is {batch.time_ms} at {record.at_ms}: its step begins at {expected_ms}"
        if others.get("timestamp_ms") != batch.time_ms:
            yield f"the time of a record is {others.get('timestamp_ms')}, and not that of its batch, {batch.time_ms}"
        if list(others.get("headers", [])) != _HEADERS:
            yield f"the headers of a record are {others.get('headers')}, and not {_HEADERS}"
        if unknown := others.keys() - _OTHERS:
            yield f"a record is sent with {sorted(unknown)}"


class SystemRandomness:
    """The bytes of the operating system's generator that were drawn inside `watched`."""

    def __init__(self) -> None:
        self.drawn = b""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Keep all bytes that are drawn in the block."""
        system = os.urandom

        def urandom(size: int) -> bytes:
            made = system(size)
            self.drawn += made
            return made

        os.urandom = urandom
        try:
            yield
        finally:
            os.urandom = system

    def words(self) -> Iterator[int]:
        """Return the words that were drawn, in order."""
        for start in range(0, len(self.drawn) - 3, 4):
            yield int.from_bytes(self.drawn[start : start + 4], "little")


class Log(logging.Handler):
    """All that is logged inside `kept`, at every level."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message, with what it was made of, and the error that it names."""
        cause = "" if not record.exc_info else repr(record.exc_info[1])
        self.messages.append(f"{record.name}: {record.getMessage()} {record.args!r} {cause}")

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep all that the package logs in the block, and show none of it."""
        logger = logging.getLogger("stream_ldp")
        before = logger.level, logger.propagate, logger.handlers[:]
        logger.handlers[:] = [self]
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        # A logger of a module may have a level of its own, which a command sets.
        try:
            yield
        finally:
            logger.level, logger.propagate = before[0], before[1]
            logger.handlers[:] = before[2]

    def comparable(self) -> list[str]:
        """Return the messages without what differs from run to run."""
        return [_MEASURED.sub("#", message) for message in self.messages]


def reveals(text: str, secret: bytes) -> bool:
    """Decide whether a text has a secret in it, in any of the usual forms, or a quarter of it."""
    part = secret[:8]
    forms = (part.hex(), repr(part)[2:-1], str(list(part))[1:-1], str(int.from_bytes(secret, "big")))
    return any(form in text for form in forms)
