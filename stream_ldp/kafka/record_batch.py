"""Stored record batches are parsed record by record, so that a damaged one does not hide the others.

The format is version 2 of Kafka's record batches, the only one that brokers have written since Kafka 3.0; see
https://kafka.apache.org/documentation/#recordbatch. Nothing in aiokafka does it: its parser does not go by the length
with which each record begins. So it ends at the first record that it cannot read, and gives neither the offset, key
and value that a dead letter needs nor the records that follow.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from aiokafka.record.util import calc_crc32c

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.decompression import DECODERS, ExpandsTooFar, turn_under_way

#: Base offset, length of what follows, leader epoch, version, CRC-32C, attributes, offset of the last record relative
#: to the base, first and largest timestamp, producer's id, epoch and sequence, number of records.
HEADER = struct.Struct(">qiibIhiqqqhii")
#: Bytes of the base offset and the length.
OVERHEAD = 12
#: First byte that the CRC covers: the attributes.
_CHECKED_FROM = 21
VERSION = 2

#: Most bytes of an integer of 64 bits. Without a limit, a megabyte of them would take minutes to be added up.
_VARINT_BYTES = 10

#: Most headers of a batch that are read. Some hundred bytes can expand to two million of them, which take 1.5 s.
MAX_HEADERS = 50_000

CODEC_BITS, APPEND_TIME_BIT, _TRANSACTION_BIT, _CONTROL_BIT = 0x07, 0x08, 0x10, 0x20
CODECS: dict[int, Callable[[Any], Any]] = {
    0: lambda data: data,
    1: DECODERS["gzip"],
    2: DECODERS["snappy"],
    3: DECODERS["lz4"],
    4: DECODERS["zstd"],
}


#: A record as some parser makes it, with its offset.
_R = TypeVar("_R", bound=Any)


class ForeignOffset(StreamLDPError, ValueError):
    """A record of a batch has an offset that no broker gave it.

    index, count: which of how many records.
    """

    def __init__(self, index: int, count: int) -> None:
        super().__init__(f"the batch has offsets that no broker gave, from record {index} of {count} on")


def placed(records: Iterable[_R], *, base: int, last_delta: int, count: int) -> Iterator[_R]:
    """Yield the records of a batch up to the first whose offset its header excludes.

    The header is the broker's. Each record repeats its offset, as its producer wrote it: brokers check that in
    compressed batches alone. A reader that believed it would pass over the reports up to an offset of a client's
    choice. Compaction takes records and leaves the offsets of the others: as many as it took may be missing before a
    record.

    Raises:
        ForeignOffset: there is such a record.
    """
    least, most = 0, last_delta + 1 - count
    for index, record in enumerate(records):
        missing = record.offset - base - index
        if not least <= missing <= most:
            raise ForeignOffset(index, count)
        least = missing
        yield record


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRecord:
    """A record as it is stored.

    timestamp_ms: milliseconds since 1970-01-01 UTC.
    key, value: as far as they can be read.
    fault: why the record cannot be read; None if it can. A batch without a readable record has one such entry, with
        the offset of its last record.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    fault: str | None = None


def split(data: bytes) -> list[bytes]:
    """Split a fetch into its batches, without a last one that is cut off."""
    batches, place = [], 0
    while len(data) >= place + OVERHEAD:
        (length,) = struct.unpack_from(">i", data, place + 8)
        end = place + OVERHEAD + length
        if length < HEADER.size - OVERHEAD or end > len(data):
            break
        batches.append(data[place:end])
        place = end
    return batches


def parse(
    batches: Iterable[bytes], *, start: int, end: int, aborted: Sequence[tuple[int, int]] = ()
) -> Iterator[StoredRecord]:
    """Yield the records of consecutive batches, without those of control batches, as long as the turn lasts.

    start, end: offsets of the first record that is wanted, and behind the last one of the log.
    aborted: producer and first offset of each transaction that was aborted, whose records are left out.
    """
    transactions = _Transactions(aborted)
    for batch in batches:
        if turn_under_way().spent:
            return
        if not transactions.abort(batch):
            yield from (each for each in _records(batch, end) if each.offset >= start)


class _Transactions:
    """The transactions that were aborted, as far as they have begun and not yet ended."""

    def __init__(self, aborted: Sequence[tuple[int, int]]) -> None:
        self._to_come = sorted(aborted, key=lambda each: each[1])
        self._open: set[int] = set()

    def abort(self, batch: bytes) -> bool:
        """Decide whether a batch, which is the next one, is part of an aborted transaction or the mark at its end."""
        base, _, _, _, _, attributes, _, _, _, producer, *_ = HEADER.unpack_from(batch)
        while self._to_come and self._to_come[0][1] <= base:
            self._open.add(self._to_come.pop(0)[0])
        if not attributes & _TRANSACTION_BIT or producer not in self._open:
            return False
        if attributes & _CONTROL_BIT:
            self._open.discard(producer)
        return True


def _records(batch: bytes, end: int) -> Iterator[StoredRecord]:
    base, _, _, version, crc, attributes, last_delta, first_ms, largest_ms, _, _, _, count = HEADER.unpack_from(batch)
    last = min(base + max(last_delta, 0), end - 1)

    def lost(why: str) -> StoredRecord:
        return StoredRecord(offset=last, timestamp_ms=largest_ms, fault=f"offsets {base} to {last}: {why}")

    if version != VERSION:
        yield lost(f"the batch has version {version} of the record format, readable is {VERSION}")
        return
    if calc_crc32c(batch[_CHECKED_FROM:]) != crc:
        yield lost("the batch is damaged, its checksum does not match")
        return
    if attributes & _CONTROL_BIT:
        return
    if (decompress := CODECS.get(attributes & CODEC_BITS)) is None:
        yield lost(f"the batch is compressed with codec {attributes & CODEC_BITS}, which Kafka does not have")
        return
    try:
        content = Cursor(decompress(batch[HEADER.size :]))
    except ExpandsTooFar as error:
        yield lost(f"the batch is compressed, and {error}")
        return
    except Exception as error:  # noqa: BLE001  every codec has exceptions of its own
        yield lost(f"the batch cannot be decompressed: {error!r}")
        return
    appended_ms = largest_ms if attributes & APPEND_TIME_BIT else None

    def stored() -> Iterator[StoredRecord]:
        room = MAX_HEADERS
        for _ in range(count):
            record = _record(Cursor(content.take(content.varint())), base, first_ms, appended_ms, room=room)
            room = max(0, room - len(record.headers))
            yield record

    read = 0
    try:
        for record in placed(stored(), base=base, last_delta=last_delta, count=count):
            yield record
            read += 1
    except ForeignOffset as error:
        yield lost(str(error))
    except EOFError:
        yield lost(f"the batch is damaged from record {read} of {count} on")


def _record(record: Cursor, base: int, first_ms: int, appended_ms: int | None, *, room: int) -> StoredRecord:
    """Read one record, be it with a fault of its own; raises EOFError if not even its offset can be read.

    room: most headers that it may have.
    """
    record.take(1)  # attributes: there are none
    # In 64 bits, as brokers add them up: what a producer writes has no bounds.
    timestamp_ms = (first_ms + record.varint() + 2**63) % 2**64 - 2**63
    offset = base + record.varint()
    key = value = None
    headers: list[tuple[str, bytes | None]] = []
    fault = None
    try:
        key, value = record.nullable(), record.nullable()
        headers.extend(islice(record.headers(), room + 1))
        if len(headers) > room:
            fault = f"the batch has more than {MAX_HEADERS:,} headers up to this record"
    except UnicodeDecodeError:
        fault = "the name of a header is not UTF-8"
    except EOFError:
        fault = "the record is damaged, it ends before its last field"
    return StoredRecord(
        offset=offset,
        timestamp_ms=timestamp_ms if appended_ms is None else appended_ms,
        key=key,
        value=value,
        headers=tuple(headers),
        fault=fault,
    )


class Cursor:
    """A cursor reads bytes from the front.

    place: number of bytes that have been read.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def take(self, length: int) -> bytes:
        """Take so many bytes; raises EOFError where there are fewer, or for a negative number."""
        place = self.place
        if not 0 <= length <= len(self._data) - place:
            raise EOFError
        self.place += length
        return self._data[place : place + length]

    def varint(self) -> int:
        """Take a signed integer in zigzag code, seven bits a byte; raises EOFError for one of more than 64 bits."""
        data, place = self._data, self.place
        # Without a call for each byte: a small batch may expand to millions of headers, each with two integers.
        if place < len(data) and (byte := data[place]) < 0x80:
            self.place = place + 1
            return (byte >> 1) ^ -(byte & 1)
        number = 0
        for shift in range(0, 7 * _VARINT_BYTES, 7):
            (byte,) = self.take(1)
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
        raise EOFError

    def headers(self) -> Iterator[tuple[str, bytes | None]]:
        """Take headers, which their number precedes; raises UnicodeDecodeError for a name that is not UTF-8."""
        for _ in range(self.varint()):
            name = self.take(self.varint())
            yield name.decode(), self.nullable()

    def nullable(self) -> bytes | None:
        """Take bytes that their length precedes; a length of -1 means none."""
        length = self.varint()
        return None if length == -1 else self.take(length)
