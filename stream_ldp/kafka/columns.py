"""Give records of a fetch as columns, and those that are stored alike without an object for each.

A record that a parser makes costs as much as all that is done with it afterwards. Where the records of a stored batch
have the same lengths, as those of one producer mostly do, their fields stand at even distances, and numpy reads a
field of all of them at once. What is not so regular is left to aiokafka's parser: other lengths of keys, values or
headers, other headers, a record without a value, and whatever is damaged.

aiokafka decides which batches there are, by their checksums, transactions and marks: its loop over the batches of a
fetch gets columns in place of records (see `fetching`). The parts of it that this needs are private, so it is pinned
in pyproject.toml.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from stream_ldp.kafka.record_batch import (
    APPEND_TIME_BIT,
    CODEC_BITS,
    CODECS,
    HEADER,
    OVERHEAD,
    VERSION,
    Cursor,
    placed,
)
from stream_ldp.pipeline import wire

#: The fewest records of a batch that are read as columns: from so many on, the dozens of calls of numpy take less
#: time than objects do.
LEAST_RECORDS = 128

#: Of a stored batch, as `HEADER` has them: the length of what follows it, the version, the attributes, the offset of
#: the last record relative to the base, and the number of records.
_PLACES = struct.Struct(">8xi4xb4xhi30xi").unpack_from

#: A record without attributes, at the time and the offset of its batch.
_FIRST = b"\0\0\0"

#: The most runs of records of one form in a batch. The numbers of records and their times take a byte more here and
#: there; where there are more, lengths change all the time.
_MOST_RUNS = 8

#: The most headers of a form; our clients write two. A few hundred bytes may expand to millions of them, which would
#: take seconds here.
_MOST_HEADERS = 16

#: Bytes within which the length of a record stands, and the most of its time and number together: numpy adds up
#: integers of 64 bits, which seven bits of eight bytes leave no doubt about.
_LENGTH_BYTES, _INTEGERS_BYTES = 5, 9

#: The bit of a byte that says that another one follows, and those of the number.
_MORE, _DIGITS = 0x80, 0x7F


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Columns:
    """Some records of a partition, in the order of the log; at least one.

    offsets: ascending, int64, shape (records,).
    timestamps_ms: milliseconds since 1970-01-01 UTC, int64, shape (records,).
    values: of each record, None where it has none.
    faults: why records cannot be read, by their index.
    headed: objects with the `headers` of the records; records that have the same may share one.
    """

    offsets: NDArray[np.int64]
    timestamps_ms: NDArray[np.int64]
    values: Sequence[bytes | None]
    headed: Sequence[Any] = ()
    faults: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Sequence[Any], *, faults: Mapping[int, str] = MappingProxyType({})) -> Self:
        """Make columns of records as aiokafka gives them."""
        return cls(
            offsets=np.array([record.offset for record in records], dtype=np.int64),
            timestamps_ms=np.array([record.timestamp for record in records], dtype=np.int64),
            values=[record.value for record in records],
            headed=records,
            faults=faults,
        )

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Put records that follow each other together, all of which can be read."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            offsets=np.concatenate([part.offsets for part in parts]),
            timestamps_ms=np.concatenate([part.timestamps_ms for part in parts]),
            values=wire.joined([part.values for part in parts]),
            headed=list(chain.from_iterable(part.headed for part in parts)),
        )

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def offset(self) -> int:
        """Offset of the last record."""
        return int(self.offsets[-1])

    @property
    def contents(self) -> Sequence[bytes]:
        """The values, empty where there is none."""
        if wire.matrix_of(self.values) is not None:
            return cast("Sequence[bytes]", self.values)
        return [value or b"" for value in self.values]

    def __getitem__(self, some: slice) -> Columns:
        """Return some records of a run."""
        return Columns(
            offsets=self.offsets[some],
            timestamps_ms=self.timestamps_ms[some],
            values=self.values[some],
            headed=self.headed,
        )


class Batch(Protocol):
    """The part of aiokafka's batch that its loop over batches uses."""

    base_offset: int
    next_offset: int
    producer_id: int | None
    is_control_batch: bool
    is_transactional: bool

    def validate_crc(self) -> bool: ...

    def __iter__(self) -> Iterator[Any]: ...


class StoredBatch:
    """A batch of aiokafka whose records have the offsets of the broker, as columns if they are alike enough.

    Iterating it raises ForeignOffset at the first record with another one; see `record_batch.placed`.
    """

    is_control_batch = False

    def __init__(
        self,
        batch: Batch,
        stored: memoryview,
        *,
        last_delta: int,
        count: int,
        next_offset: Callable[[], int] | None,
    ) -> None:
        """Take a batch, its bytes and what its header says.

        next_offset: returns the offset of the next record, before which none is wanted; None for no columns.
        """
        self._batch = batch
        self._stored = stored
        self._last_delta, self._count = last_delta, count
        self._next_offset = next_offset
        # Copied, since an attribute that is looked up in the other object takes several times as long.
        self.validate_crc = batch.validate_crc
        self.base_offset, self.next_offset = batch.base_offset, batch.next_offset
        self.producer_id, self.is_transactional = batch.producer_id, batch.is_transactional

    def __iter__(self) -> Iterator[Any]:
        next_offset = self._next_offset
        runs = None if next_offset is None or self._count < LEAST_RECORDS else runs_of(self._stored)
        if next_offset is None or runs is None:
            return placed(self._batch, base=self.base_offset, last_delta=self._last_delta, count=self._count)
        return (run[bisect_left(run.offsets, start) :] for run in runs if run.offset >= (start := next_offset()))


class StoredBatches:
    """The batches of a fetch; the records of large ones may come as columns.

    next_offset: returns the offset of the next record, before which none is wanted; None, at first, for no columns.
    """

    def __init__(self, next_batch: Callable[[], Batch], data: bytes) -> None:
        """Take the first batch of a fetch and all others.

        next_batch: gives the next one, as aiokafka parses it.
        data: the bytes of all.
        """
        self.next_offset: Callable[[], int] | None = None
        self._next_batch = next_batch
        self._data = memoryview(data)
        self._place = 0

    def next_batch(self) -> Batch | StoredBatch:
        """Return the next batch."""
        batch, begin = self._next_batch(), self._place
        length, version, attributes, last_delta, count = _PLACES(self._data, begin)
        self._place = begin + OVERHEAD + length
        if version != VERSION or batch.is_control_batch:
            return batch
        if count == 1 and last_delta == 0 and not attributes & CODEC_BITS:
            # Where a batch has one record, each step more is felt.
            content = begin + HEADER.size
            while content < self._place and self._data[content] & _MORE:
                content += 1
            if self._data[content + 1 : content + 4] == _FIRST:
                return batch
        return StoredBatch(
            batch,
            self._data[begin : self._place],
            last_delta=last_delta,
            count=count,
            next_offset=self.next_offset,
        )


class _Headed(NamedTuple):
    """What several records have in common."""

    headers: tuple[tuple[str, bytes | None], ...]


def runs_of(stored: memoryview) -> list[Columns] | None:
    """Read the records of a stored batch, whose checksum is right, as columns; None if they are not alike enough.

    Raises:
        Exception: it cannot be expanded; every codec has exceptions of its own.
    """
    base, _, _, _, _, attributes, last_delta, first_ms, largest_ms, _, _, _, count = HEADER.unpack_from(stored)
    if (expand := CODECS.get(attributes & CODEC_BITS)) is None:
        return None
    content = memoryview(expand(stored[HEADER.size :]))
    found: list[Columns] = []
    place, left = 0, count
    while left and len(found) < _MOST_RUNS:
        form = _Form.of(content, place)
        if form is None:
            return None
        rows = form.rows(content, place, left)
        times = first_ms + _integers(rows[:, form.time])
        if attributes & APPEND_TIME_BIT:
            times[:] = largest_ms
        found.append(
            Columns(
                offsets=base + _integers(rows[:, form.offset]),
                timestamps_ms=times,
                values=wire.EqualRecords(rows[:, form.value]),
                headed=[_Headed(form.headers)],
            )
        )
        left -= len(rows)
        place += rows.size
    whole = not left and place == len(content)
    return found if whole and _placed(found, base=base, last_delta=last_delta, count=count) else None


def _placed(runs: Sequence[Columns], *, base: int, last_delta: int, count: int) -> bool:
    """Decide whether all records have offsets that the header of their batch allows, as `placed` does."""
    missing = np.concatenate([run.offsets for run in runs]) - base - np.arange(count)
    return bool(missing[0] >= 0 and missing[-1] <= last_delta + 1 - count and (missing[1:] >= missing[:-1]).all())


class _Form(NamedTuple):
    """The form of records that have their fields in the same places.

    time, offset, value: where these are in the bytes of a record.
    fixed: the bits that all have alike before the value, uint8: of an integer that may differ, how many bytes it has.
    headers: those of all of them.
    """

    length: int
    time: slice
    offset: slice
    value: slice
    fixed: NDArray[np.uint8]
    headers: tuple[tuple[str, bytes | None], ...]

    @classmethod
    def of(cls, content: memoryview, place: int) -> Self | None:
        """Find the form of the record that begins at a place; None if it has no value, or cannot be read."""
        try:
            ahead = Cursor(bytes(content[place : place + _LENGTH_BYTES]))
            length = ahead.varint() + ahead.place
            record = Cursor(bytes(content[place : place + length]))
            record.take(ahead.place)
            if record.varint():  # attributes: aiokafka, which reads them as an integer too, decides about any
                return None
            time = record.place
            record.varint()
            offset = record.place
            record.varint()
            ends = record.place
            key = len(record.nullable() or b"")
            key_ends = record.place
            value = record.nullable()
            value_ends = record.place
            headers = tuple(islice(record.headers(), _MOST_HEADERS))  # with more, the record goes on
        except (EOFError, UnicodeDecodeError):
            return None
        if value is None or record.place != length or ends - time > _INTEGERS_BYTES:
            return None
        begins = value_ends - len(value)
        fixed = np.full(begins, 0xFF, dtype=np.uint8)
        fixed[time:ends] = _MORE
        fixed[key_ends - key : key_ends] = 0
        return cls(length, slice(time, offset), slice(offset, ends), slice(begins, value_ends), fixed, headers)

    def rows(self, content: memoryview, place: int, most: int) -> NDArray[np.uint8]:
        """Return the records from a place on that have this form, uint8, shape (records, length)."""
        most = min(most, (len(content) - place) // self.length)
        rows = np.frombuffer(content, np.uint8, most * self.length, place).reshape(most, self.length)
        head, tail = rows[:, : self.value.start], rows[:, self.value.stop :]
        # Each has the length of the one before, and so begins here, up to the first that differs.
        other = ((head ^ head[0]) & self.fixed).any(axis=1) | (tail != tail[0]).any(axis=1)
        return rows[: int(other.argmax()) or most]


def _integers(columns: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Read integers in zigzag code, seven bits a byte, uint8, shape (n, bytes); int64, shape (n,)."""
    number = np.zeros(len(columns), dtype=np.int64)
    for place in range(columns.shape[1]):
        number |= (columns[:, place] & _DIGITS).astype(np.int64) << 7 * place
    return (number >> 1) ^ -(number & 1)
