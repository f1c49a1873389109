"""Batches, and the time that stands in them: section 6 of docs/wire.md."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stream_ldp.audit.wire.notation import Unspecified, duration_ms

HEADER_BYTES = 56


def encoded(rows: Sequence[bytes], *, fingerprint: bytes, batch_id: bytes, time_ms: int) -> bytes:
    checked = struct.pack("<BBHI16s16sq", 1, 0, len(rows[0]), len(rows), fingerprint, batch_id, time_ms)
    checked += b"".join(rows)
    return b"SLDP" + struct.pack("<I", zlib.crc32(checked)) + checked


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """What is in a batch."""

    fingerprint: bytes
    batch_id: bytes
    time_ms: int
    rows: list[bytes]


def read(record: bytes) -> Read:
    """Take a batch apart.

    Raises:
        Unspecified: a client that follows the page would have written other bytes.
    """
    if len(record) < HEADER_BYTES:
        raise Unspecified("a record is shorter than the header of a batch")
    _, _, _, _, wide, count, fingerprint, batch_id, time_ms = struct.unpack("<4sIBBHI16s16sq", record[:HEADER_BYTES])
    body = record[HEADER_BYTES:]
    if not wide or len(body) != wide * count:
        raise Unspecified(f"a batch says that it has {count} rows of {wide} bytes, and has {len(body)} bytes of rows")
    rows = [body[start : start + wide] for start in range(0, len(body), wide)]
    if not rows or encoded(rows, fingerprint=fingerprint, batch_id=batch_id, time_ms=time_ms) != record:
        raise Unspecified("the header of a batch has other bytes than section 6 gives it")
    return Read(fingerprint=fingerprint, batch_id=batch_id, time_ms=time_ms, rows=rows)


def pane_ms(window: Mapping[str, str]) -> int:
    return duration_ms(window.get("hop", window["size"]))


def rounded_time(window: Mapping[str, str], time_ms: int) -> int:
    h = pane_ms(window)
    r = duration_ms(window["time_precision"]) if "time_precision" in window else min(max(1, h // 10), 60_000)
    return time_ms - (time_ms % h) % r
