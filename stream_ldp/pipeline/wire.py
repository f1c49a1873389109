"""The wire format of batches of reports; docs/wire.md specifies every byte."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.rejection import Reason, Rejected

MAGIC = b"SLDP"
VERSION = 1

#: Every field is little-endian. The checksum covers all bytes after it, so that it is computed over one slice.
_HEADER = np.dtype(
    [
        ("magic", "S4"),
        ("checksum", "<u4"),
        ("version", "u1"),
        ("reserved", "u1"),
        ("width", "<u2"),
        ("count", "<u4"),
        ("fingerprint", "V16"),
        ("batch_id", "V16"),
        ("time_ms", "<i8"),
    ]
)
HEADER_BYTES = _HEADER.itemsize
_CHECKED_FROM = 8

#: Most reports of one batch: at the least width, one byte, they fill Kafka's default record limit of 1 MB.
MAX_REPORTS = 2**20


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Batch:
    """Reports of one collection that are published together.

    fingerprint: that of the collection or round, 16 bytes.
    batch_id: 16 random bytes, the same in every copy of this batch and in no other.
    time_ms: event time of all its reports, milliseconds since 1970-01-01 UTC.
    rows: packed reports, uint8, shape (count, ceil(bits / 8)).
    """

    fingerprint: bytes
    batch_id: bytes
    time_ms: int
    rows: NDArray[np.uint8]


def encode(batch: Batch) -> bytes:
    """Encode a batch.

    Raises:
        ValueError: there are no reports or too many, or an id has another length than 16 bytes.
    """
    count, width = batch.rows.shape
    if not 1 <= count <= MAX_REPORTS:
        raise ValueError(f"a batch has 1 to {MAX_REPORTS} reports, got {count}")
    if len(batch.fingerprint) != 16 or len(batch.batch_id) != 16:
        raise ValueError(
            f"fingerprint and batch id have 16 bytes each, got {len(batch.fingerprint)} and {len(batch.batch_id)}"
        )
    header = np.array(
        (MAGIC, 0, VERSION, 0, width, count, batch.fingerprint, batch.batch_id, batch.time_ms), dtype=_HEADER
    )
    checked = header.tobytes()[_CHECKED_FROM:] + batch.rows.tobytes()
    return MAGIC + zlib.crc32(checked).to_bytes(4, "little") + checked


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """What the header of one record says, true or not; see `Batch`."""

    fingerprint: bytes
    batch_id: bytes
    time_ms: int
    count: int

    @classmethod
    def of(cls, record: bytes) -> Self | None:
        """Read the header; None if the record is too short or does not begin as a batch does."""
        if len(record) < HEADER_BYTES or not record.startswith(MAGIC):
            return None
        (fields,) = np.frombuffer(record[:HEADER_BYTES], dtype=_HEADER)
        return cls(
            fingerprint=fields["fingerprint"].tobytes(),
            batch_id=fields["batch_id"].tobytes(),
            time_ms=int(fields["time_ms"]),
            count=int(fields["count"]),
        )


class RowFormat(Protocol):
    """The format of the reports of one fingerprint."""

    @property
    def bits(self) -> int:
        """Number of bits of a report."""
        ...

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Decide which packed rows, uint8, shape (n, ceil(bits / 8)), are reports; bool, shape (n,)."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Decoded:
    """The batches of many records, those that can be counted and those that cannot.

    accepted: positions of the good records, int64, shape (good,), ascending; the other arrays are in this order.
    time_ms: event time of each, int64, shape (good,).
    ids: batch id of each, 16 bytes, shape (good,).
    counts: number of reports of each, int64, shape (good,).
    formats: position of the format of each among the given ones, int64, shape (good,).
    rows: for each format, all its reports in order, uint8, shape (sum of its counts, width).
    rejected: (position, rejection) of every other record.
    """

    accepted: NDArray[np.int64]
    time_ms: NDArray[np.int64]
    ids: NDArray[np.void]
    counts: NDArray[np.int64]
    formats: NDArray[np.int64]
    rows: tuple[NDArray[np.uint8], ...]
    rejected: list[tuple[int, Rejected]]

    @property
    def batch_ids(self) -> list[bytes]:
        """The batch id of each."""
        found: list[bytes] = self.ids.tolist()
        return found


class EqualRecords(Sequence[bytes]):
    """Equal records are of one length, and may be cut together.

    matrix: their bytes, uint8, shape (records, length).
    """

    def __init__(self, matrix: NDArray[np.uint8]) -> None:
        self.matrix = matrix

    def __len__(self) -> int:
        return len(self.matrix)

    @overload
    def __getitem__(self, place: int) -> bytes: ...

    @overload
    def __getitem__(self, place: slice) -> EqualRecords: ...

    def __getitem__(self, place: int | slice) -> bytes | EqualRecords:
        found = self.matrix[place]
        return found.tobytes() if found.ndim == 1 else EqualRecords(found)


def matrix_of(records: Sequence[bytes | None]) -> NDArray[np.uint8] | None:
    """Return the bytes of equal records, uint8, shape (records, length); None for others."""
    return getattr(records, "matrix", None)


def joined(parts: Sequence[Sequence[bytes | None]]) -> Sequence[bytes | None]:
    """Put records together, as equal ones if all are."""
    matrices = [matrix for part in parts if (matrix := matrix_of(part)) is not None]
    if len(matrices) == len(parts) and len({matrix.shape[1] for matrix in matrices}) == 1:
        return EqualRecords(np.concatenate(matrices))
    return list(chain.from_iterable(parts))


def fingerprints(records: Sequence[bytes]) -> set[bytes]:
    """Collect the fingerprints in the headers of records, whatever else is wrong with them."""
    field = _HEADER.fields["fingerprint"]  # type: ignore[index]
    first = field[1]
    return {record[first : first + 16] for record in records if len(record) >= HEADER_BYTES}


def decode(records: Sequence[bytes], *, formats: Mapping[bytes, RowFormat]) -> Decoded:
    """Decode many records of one collection at once; never raises for what a record holds.

    formats: by fingerprint, the format of its reports; records of any other fingerprint are rejected.
    """
    matrix = matrix_of(records)
    if matrix is None:
        lengths = np.fromiter(map(len, records), dtype=np.int64, count=len(records))
    else:
        lengths = np.full(len(matrix), matrix.shape[1], dtype=np.int64)
    whole = np.flatnonzero(lengths >= HEADER_BYTES)
    parts = _Parts.of(records if len(whole) == len(records) else [records[i] for i in whole.tolist()], lengths[whole])
    headers = np.frombuffer(parts.headers(), dtype=_HEADER)
    count = headers["count"].astype(np.int64)
    found = np.full(len(whole), -1, dtype=np.int64)
    for place, fingerprint in enumerate(formats):
        found[headers["fingerprint"] == np.void(fingerprint)] = place
    # The last entry is for unknown fingerprints: they are rejected before their width matters.
    widths = np.array([*(row_width(each.bits) for each in formats.values()), 0])
    # The order matters: the first check that fails gives the reason.
    faults = [
        (Reason.BAD_MAGIC, headers["magic"] != MAGIC),
        (Reason.UNKNOWN_VERSION, (headers["version"] != VERSION) | (headers["reserved"] != 0)),
        (Reason.WRONG_LENGTH, lengths[whole] != HEADER_BYTES + count * headers["width"]),
        (Reason.BAD_CHECKSUM, headers["checksum"] != parts.checksums()),
        (Reason.UNKNOWN_FINGERPRINT, found < 0),
        (Reason.ZERO_REPORTS, count == 0),
        (Reason.WRONG_WIDTH, headers["width"] != widths[found]),
    ]
    rejected = {
        int(i): Rejected(Reason.TOO_SHORT, f"{lengths[i]} bytes, a header has {HEADER_BYTES}")
        for i in np.flatnonzero(lengths < HEADER_BYTES)
    }
    good = np.ones(len(whole), dtype=np.bool_)
    for reason, fault in faults:
        for i in np.flatnonzero(good & fault):
            width = int(widths[found[i]])
            rejected[int(whole[i])] = Rejected(reason, _detail(reason, headers[i], int(lengths[whole[i]]), width))
        good &= ~fault
    rows = []
    for place, each in enumerate(formats.values()):
        members = np.flatnonzero(good & (found == place))
        ours = np.frombuffer(parts.bodies(members), dtype=np.uint8).reshape(-1, row_width(each.bits))
        owner = np.repeat(members, count[members])
        for reason, spoiled, rule in (
            (Reason.PADDING_BITS, _padded(ours, each.bits), f"a report has {each.bits} bits, the rest must be 0"),
            (Reason.UNKNOWN_VALUE, ~each.valid(ours), "a report names a value that does not exist"),
        ):
            if spoiled.any():
                for i in np.unique(owner[spoiled]):
                    rejected.setdefault(int(whole[i]), Rejected(reason, rule))
                    good[i] = False
        rows.append(ours if good[members].all() else ours[good[owner]])
    return Decoded(
        accepted=whole[good],
        time_ms=headers["time_ms"][good].astype(np.int64),
        ids=headers["batch_id"][good],
        counts=count[good],
        formats=found[good],
        rows=tuple(rows),
        rejected=sorted(rejected.items(), key=lambda item: item[0]),
    )


def _padded(rows: NDArray[np.uint8], bits: int) -> NDArray[np.bool_]:
    """Decide which rows have a bit set beyond the last bit of a report."""
    if bits % 8 == 0:
        return np.zeros(len(rows), dtype=np.bool_)
    behind: NDArray[np.bool_] = (rows[:, -1] >> (bits % 8)) != 0
    return behind


class _Parts(NamedTuple):
    """The headers and the bodies of records, each long enough for a header.

    together: all bytes, uint8, shape (records, length), if the records have one length, as those of one producer
        often do: cutting these takes a sixth of the time of cutting record by record. None if they have not.
    """

    records: Sequence[bytes]
    together: NDArray[np.uint8] | None

    @classmethod
    def of(cls, records: Sequence[bytes], lengths: NDArray[np.int64]) -> Self:
        """Take records of these lengths, int64, shape (records,)."""
        together = matrix_of(records)
        if together is None and len(lengths) and (lengths == lengths[0]).all():
            together = np.frombuffer(b"".join(records), dtype=np.uint8).reshape(len(lengths), -1)
        return cls(records, together)

    def headers(self) -> bytes:
        """Return all headers, one after the other."""
        if self.together is not None:
            return self.together[:, :HEADER_BYTES].tobytes()
        return b"".join([record[:HEADER_BYTES] for record in self.records])

    def checksums(self) -> NDArray[np.uint32]:
        """Compute the checksum of each; uint32, shape (records,)."""
        # A copy of a record takes half as long as a view of it does, which is what counts where records are small.
        if self.together is None:
            sums = [zlib.crc32(record[_CHECKED_FROM:]) for record in self.records]
        else:
            data, length = self.together.tobytes(), self.together.shape[1]
            sums = [
                zlib.crc32(data[end - length + _CHECKED_FROM : end]) for end in range(length, len(data) + 1, length)
            ]
        return np.array(sums, dtype=np.uint32)

    def bodies(self, members: NDArray[np.int64]) -> bytes:
        """Return the bodies of records at ascending positions, one after the other."""
        if self.together is not None:
            every = len(members) == len(self.together)
            return (self.together if every else self.together[members])[:, HEADER_BYTES:].tobytes()
        return b"".join([self.records[i][HEADER_BYTES:] for i in members.tolist()])


def _detail(reason: Reason, header: np.void, length: int, width: int) -> str:
    """Describe what is wrong and what would be right, in terms of the header alone."""
    match reason:
        case Reason.BAD_MAGIC:
            return f"begins with {bytes(header['magic']).hex()}, a batch with {MAGIC.hex()}"
        case Reason.UNKNOWN_VERSION:
            return f"version {header['version']}.{header['reserved']}, this release reads {VERSION}.0"
        case Reason.WRONG_LENGTH:
            expected = HEADER_BYTES + int(header["count"]) * int(header["width"])
            return f"{length} bytes, the header announces {expected}"
        case Reason.BAD_CHECKSUM:
            return "the CRC-32 of the bytes is not the one in the header"
        case Reason.UNKNOWN_FINGERPRINT:
            return f"made for collection fingerprint {header['fingerprint'].tobytes().hex()}"
        case Reason.WRONG_WIDTH:
            return f"reports of {header['width']} bytes, this collection's have {width}"
        case _:
            return "the batch has no reports"
