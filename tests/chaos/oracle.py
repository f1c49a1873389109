"""What must be published of a reports topic, from its records alone and by loops.

It shares no code with the service but which rows a mechanism can make: batches are read by hand from the layout in
docs/wire.md, and lateness is decided record by record.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Collection as Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stream_ldp.pipeline.rejection import Reason

if TYPE_CHECKING:
    from stream_ldp.collection import Window

_HEADER = struct.Struct("<4sIBBHI16s16sq")


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedBatch:
    """A record of the reports topic.

    appended_ms: when the broker appended it, by its clock, in milliseconds since 1970-01-01 UTC.
    readable: whether Kafka's clients can read it.
    """

    partition: int
    offset: int
    appended_ms: int
    value: bytes
    readable: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """What the batches under one fingerprint must be like.

    width: bytes of a report; bits: bits of it that may be set.
    valid: decides whether all rows of a body are reports.
    asked: decides whether a pane, given by its start, may have such reports.
    """

    width: int
    bits: int
    valid: Callable[[bytes], bool] = lambda _: True
    asked: Callable[[int], bool] = lambda _: True


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
    perhaps: (partition, offset) of every record that was deleted before it was counted, or lost, with the reason of
        its dead letter if it has one: a worker may have died after it wrote the letter and before it committed.
    watermarks: by partition, the event time that it has reached.
    spare: by window, how many of its reports were on a part of the log that was lost after it had been read, while
        the window was open: a final may have them or not.
    """

    windows: dict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    final: set[int] = field(default_factory=set)
    rejected: dict[tuple[int, int], Reason] = field(default_factory=dict)
    perhaps: dict[tuple[int, int], Reason] = field(default_factory=dict)
    watermarks: dict[int, int] = field(default_factory=dict)
    spare: dict[int, int] = field(default_factory=lambda: defaultdict(int))


def expect(
    log: Iterable[LoggedBatch],
    *,
    forms: Mapping[bytes, Form],
    window: Window,
    partitions: int,
    late: Mapping[int, Container[tuple[int, int]]] | None = None,
    idle: bool = False,
    lost: Mapping[int, Lost] | None = None,
    spare: Container[tuple[int, int]] = (),
) -> Expected:
    """Say what must be published.

    log: all that was ever on the topic, each partition in order.
    forms: by fingerprint, those of the batches that count.
    late: by partition, the places, (partition, offset), of the batches that came late; where a partition is missing,
        its log alone decides. Nobody but the service can say it of a partition that is idle, or that came later.
    idle: whether partitions may be idle, so that every window closes in the end.
    lost: by partition, what was deleted before it was counted.
    spare: places of what the log lost after it had been read.
    """
    expected = Expected()
    panes: dict[int, list[bytes]] = defaultdict(list)
    perhaps: dict[int, int] = defaultdict(int)
    known: set[tuple[int, int, bytes]] = set()
    marks, told = expected.watermarks, late or {}
    for batch in log:
        place = batch.partition, batch.offset
        gap = (lost or {}).get(batch.partition)
        deleted = gap is not None and gap.first <= batch.offset < gap.end
        reason = _fault(batch, forms, window)
        refused = expected.perhaps if place in spare else expected.rejected
        if deleted and gap is not None and batch.offset >= gap.read_to:
            expected.perhaps[place] = reason or Reason.LATE
            continue
        if reason not in (None, Reason.CLOSED_PHASE):
            refused[place] = reason
            continue
        _, _, _, _, _, _, made_for, batch_id, time_ms = _HEADER.unpack_from(batch.value)
        pane = time_ms // window.pane_ms * window.pane_ms
        mark = marks.get(batch.partition)
        closed = mark is not None and pane + window.pane_ms + window.grace_ms <= mark
        marks[batch.partition] = max(min(time_ms, batch.appended_ms), mark if mark is not None else -(2**63))
        if reason is not None:
            refused[place] = reason
        elif place in told[batch.partition] if batch.partition in told else closed:
            refused[place] = Reason.LATE
        elif deleted and gap is not None and pane + window.pane_ms + window.grace_ms > gap.watermark_ms:
            continue
        elif (batch.partition, pane, batch_id) not in known:
            known.add((batch.partition, pane, batch_id))
            body, width = batch.value[_HEADER.size :], forms[made_for].width
            rows = [body[at : at + width] for at in range(0, len(body), width)]
            panes[pane] += rows
            perhaps[pane] += len(rows) if place in spare else 0
    for pane, rows in panes.items():
        for start in range(pane - window.size_ms + window.pane_ms, pane + 1, window.pane_ms):
            expected.windows[start] += rows
            expected.spare[start] += perhaps[pane]
    if idle:
        expected.final = set(expected.windows)
    elif len(marks) == partitions:
        reached = min(marks.values())
        expected.final = {start for start in expected.windows if start + window.size_ms + window.grace_ms <= reached}
    return expected


def _fault(batch: LoggedBatch, forms: Mapping[bytes, Form], window: Window) -> Reason | None:
    """Return why a batch cannot count, whatever came before it: the first fault in the order of docs/wire.md."""
    value = batch.value
    if not batch.readable:
        return Reason.UNREADABLE_RECORD
    if len(value) < _HEADER.size:
        return Reason.TOO_SHORT
    magic, checksum, version, reserved, row, count, made_for, _, time_ms = _HEADER.unpack_from(value)
    rows = value[_HEADER.size :]
    faults = {
        Reason.BAD_MAGIC: magic != b"SLDP",
        Reason.UNKNOWN_VERSION: (version, reserved) != (1, 0),
        Reason.WRONG_LENGTH: len(rows) != count * row,
        Reason.BAD_CHECKSUM: zlib.crc32(value[8:]) != checksum,
        Reason.UNKNOWN_FINGERPRINT: made_for not in forms,
        Reason.ZERO_REPORTS: count == 0,
    }
    if (found := next((reason for reason, fault in faults.items() if fault), None)) is not None:
        return found
    form = forms[made_for]
    if row != form.width:
        return Reason.WRONG_WIDTH
    behind = (1 << (form.bits - 8 * (form.width - 1))) - 1
    faults = {
        Reason.PADDING_BITS: any(last & ~behind for last in rows[form.width - 1 :: form.width]),
        Reason.UNKNOWN_VALUE: not form.valid(rows),
        Reason.FUTURE_TIME: time_ms > batch.appended_ms + window.ahead_ms,
        Reason.PAST_TIME: time_ms < batch.appended_ms - window.max_age_ms,
        Reason.CLOSED_PHASE: not form.asked(time_ms // window.pane_ms * window.pane_ms),
    }
    return next((reason for reason, fault in faults.items() if fault), None)
