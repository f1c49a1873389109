"""Batches, and the time that stands in them: section 6 of docs/wire.md, and the reasons of section 8."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence

from stream_ldp.audit.wire.notation import duration_ms

HEADER_BYTES = 56


def encoded(rows: Sequence[bytes], *, fingerprint: bytes, batch_id: bytes, time_ms: int) -> bytes:
    checked = struct.pack("<BBHI16s16sq", 1, 0, len(rows[0]), len(rows), fingerprint, batch_id, time_ms)
    checked += b"".join(rows)
    return b"SLDP" + struct.pack("<I", zlib.crc32(checked)) + checked


def pane_ms(window: Mapping[str, str]) -> int:
    return duration_ms(window.get("hop", window["size"]))


def rounded_time(window: Mapping[str, str], time_ms: int) -> int:
    h = pane_ms(window)
    r = duration_ms(window["time_precision"]) if "time_precision" in window else min(max(1, h // 10), 60_000)
    return time_ms - (time_ms % h) % r


def reason_of(record: bytes, *, fingerprint: bytes, bits: int) -> str | None:
    """The reason of section 8 that depends on the bytes alone, for rr-ldp; None if there is none."""
    row = -(-bits // 8)
    if len(record) < HEADER_BYTES:
        return "too_short"
    magic, checksum, version, reserved, wide, count, carried = struct.unpack("<4sIBBHI16s", record[:32])
    rows = record[HEADER_BYTES:]
    reasons = {
        "bad_magic": magic != b"SLDP",
        "unknown_version": (version, reserved) != (1, 0),
        "wrong_length": len(rows) != wide * count,
        "bad_checksum": checksum != zlib.crc32(record[8:]),
        "unknown_fingerprint": carried != fingerprint,
        "zero_reports": count == 0,
        "wrong_width": wide != row,
        "padding_bits": any(rows[place] >> (bits - 8 * (row - 1)) for place in range(row - 1, len(rows), row)),
    }
    return next((reason for reason, found in reasons.items() if found), None)
