"""This module says what must be published of a reports topic, from its records alone and by loops.

It shares no code with the service but the collection's own columns: batches are read by hand from the layout in
docs/wire.md, and lateness is decided record by record.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stream_ldp.pipeline.rejection import Reason

if TYPE_CHECKING:
    from collections.abc import Collection as Container
    from collections.abc import Iterable, Mapping

    from stream_ldp.collection import Window

__all__ = ["Expected", "LoggedBatch", "Lost", "expect"]

_HEADER = struct.Struct("<4sIBBHI16s16sq")


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedBatch:
    """A record of the reports topic.

    appended_ms: when the broker appended it, by its clock, in milliseconds since 1970-01-01 UTC.
    """

    partition: int
    offset: int
    appended_ms: int
    value: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """Offsets of a partition that retention deleted before they were counted.

    first, end: from the last commit up to the new beginning of the log.
    read_to: offset before which a worker had read once: what was read has moved the watermark, although it is not
        counted.
    watermark_ms: that of the last commit; what is in the panes that it closed is counted for good.
    """

    first: int
    end: int
    read_to: int
    watermark_ms: int


@dataclass(kw_only=True, slots=True)
class Expected:
    """What must be published.

    windows: the rows of each window by its start, one tuple of bytes a window.
    final: the starts of those that have to be final.
    rejected: (partition, offset) of every record that is not counted and not a duplicate, with its reason.
    perhaps: (partition, offset) of every record that was deleted before it was counted, with the reason of its dead
        letter if it has one: a worker may have died after it wrote the letter and before it committed.
    watermarks: by partition, the event time that it has reached.
    """

    windows: dict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    final: set[int] = field(default_factory=set)
    rejected: dict[tuple[int, int], Reason] = field(default_factory=dict)
    perhaps: dict[tuple[int, int], Reason] = field(default_factory=dict)
    watermarks: dict[int, int] = field(default_factory=dict)


def expect(
    log: Iterable[LoggedBatch],
    *,
    fingerprint: bytes,
    width: int,
    bits: int,
    window: Window,
    partitions: int,
    late: Container[tuple[int, int]] | None = None,
    lost: Mapping[int, Lost] | None = None,
) -> Expected:
    """Say what must be published.

    log: all that was ever on the topic, each partition in order.
    width: bytes of a report; bits: bits of it that may be set.
    late: (partition, offset) of the batches that came late; None if the log alone decides, that is if no partition
        is ever idle.
    lost: by partition, what was deleted before it was counted.
    """
    expected = Expected()
    panes: dict[int, list[bytes]] = defaultdict(list)
    known: set[tuple[int, int, bytes]] = set()
    marks = expected.watermarks
    for batch in log:
        place = batch.partition, batch.offset
        gap = (lost or {}).get(batch.partition)
        deleted = gap is not None and gap.first <= batch.offset < gap.end
        reason = _fault(batch, fingerprint, width, bits, window)
        if deleted and gap is not None and batch.offset >= gap.read_to:
            expected.perhaps[place] = reason or Reason.LATE
            continue
        if reason is not None:
            expected.rejected[place] = reason
            continue
        _, _, _, _, _, _, _, batch_id, time_ms = _HEADER.unpack_from(batch.value)
        pane = time_ms // window.pane_ms * window.pane_ms
        mark = marks.get(batch.partition)
        closed = mark is not None and pane + window.pane_ms + window.grace_ms <= mark
        marks[batch.partition] = max(min(time_ms, batch.appended_ms), mark if mark is not None else -(2**63))
        if closed if late is None else place in late:
            expected.rejected[place] = Reason.LATE
        elif deleted and gap is not None and pane + window.pane_ms + window.grace_ms > gap.watermark_ms:
            continue
        elif (batch.partition, pane, batch_id) not in known:
            known.add((batch.partition, pane, batch_id))
            body = batch.value[_HEADER.size :]
            panes[pane] += [body[at : at + width] for at in range(0, len(body), width)]
    for pane, rows in panes.items():
        for start in range(pane - window.size_ms + window.pane_ms, pane + 1, window.pane_ms):
            expected.windows[start] += rows
    if late is not None:
        # Where partitions may be idle, every window closes in the end.
        expected.final = set(expected.windows)
    elif len(marks) == partitions:
        reached = min(marks.values())
        expected.final = {start for start in expected.windows if start + window.size_ms + window.grace_ms <= reached}
    return expected


def _fault(batch: LoggedBatch, fingerprint: bytes, width: int, bits: int, window: Window) -> Reason | None:
    """Return why a batch cannot be counted, whatever its window: the first fault in the order of docs/wire.md."""
    value = batch.value
    if len(value) < _HEADER.size:
        return Reason.TOO_SHORT
    magic, checksum, version, reserved, row, count, made_for, _, time_ms = _HEADER.unpack_from(value)
    behind = (1 << (bits - 8 * (width - 1))) - 1
    rows = value[_HEADER.size :]
    faults = {
        Reason.BAD_MAGIC: magic != b"SLDP",
        Reason.UNKNOWN_VERSION: (version, reserved) != (1, 0),
        Reason.WRONG_LENGTH: len(rows) != count * row,
        Reason.BAD_CHECKSUM: zlib.crc32(value[8:]) != checksum,
        Reason.UNKNOWN_FINGERPRINT: made_for != fingerprint,
        Reason.ZERO_REPORTS: count == 0,
        Reason.WRONG_WIDTH: row != width,
        Reason.PADDING_BITS: any(last & ~behind for last in rows[width - 1 :: width]),
        Reason.FUTURE_TIME: time_ms > batch.appended_ms + window.ahead_ms,
        Reason.PAST_TIME: time_ms < batch.appended_ms - window.max_age_ms,
    }
    return next((reason for reason, found in faults.items() if found), None)
