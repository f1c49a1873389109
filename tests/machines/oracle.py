"""The batch answer, by dictionaries and loops over the raw logs, which the pipeline must always arrive at."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stream_ldp.collection import Collection
from stream_ldp.records.collection import JointCollection

Bits = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A record of a reports log.

    reports: None where the bytes were spoiled on the way.
    question: the inquiry that they report to, if a collection makes several.
    windows: starts of the windows in which that is asked; None where it is in all.
    """

    appended_ms: int
    value: bytes
    batch_id: bytes
    time_ms: int
    reports: tuple[Bits, ...] | None
    question: bytes = b""
    windows: Container[int] | None = None


@dataclass(frozen=True, kw_only=True)
class Advance:
    """A committed decision that a partition is idle: all before `position` is read, event time is `watermark_ms`."""

    position: int
    watermark_ms: int


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A committed decision that a pane takes so many batches at most, from the record at an offset on."""

    since: int
    batches: int


@dataclass(kw_only=True)
class Pane:
    """The part of one pane that one partition holds."""

    first_offset: int
    batch_ids: set[bytes] = field(default_factory=set)
    reports: list[Bits] = field(default_factory=list)
    answers: dict[bytes, list[Bits]] = field(default_factory=dict)


@dataclass(kw_only=True)
class Replay:
    """The outcome of a prefix of one partition's log.

    verdicts: of each record: counted, duplicate, or why it was refused.
    """

    watermark_ms: int | None = None
    verdicts: list[str] = field(default_factory=list)
    panes: dict[int, Pane] = field(default_factory=dict)


def replay(
    collection: Collection,
    log: Sequence[Entry],
    advances: Iterable[Advance],
    *,
    limits: Iterable[Limit] = (),
    end: int,
    begun: Replay | None = None,
) -> Replay:
    """Go through the records before `end`, one by one.

    limits: in the order of their offsets.
    begun: the replay of fewer records of this log with these advances and limits, which is carried on.
    """
    advances, limits = list(advances), list(limits)
    result = begun or Replay()
    for offset in range(len(result.verdicts), end):
        _advance(result, advances, offset)
        most = [each.batches for each in limits if each.since <= offset]
        result.verdicts.append(_take(collection, log[offset], offset, result, most=most[-1] if most else None))
    _advance(result, advances, end)
    return result


def _advance(result: Replay, advances: Iterable[Advance], position: int) -> None:
    for advance in advances:
        if advance.position == position:
            _reach(result, advance.watermark_ms)


def _reach(result: Replay, time_ms: int) -> None:
    if result.watermark_ms is None or time_ms > result.watermark_ms:
        result.watermark_ms = time_ms


def _take(collection: Collection, entry: Entry, offset: int, result: Replay, *, most: int | None) -> str:
    window = collection.window
    if entry.reports is None:
        return "bad_checksum"
    if entry.time_ms > entry.appended_ms + window.ahead_ms:
        return "future_time"
    if entry.time_ms < entry.appended_ms - window.max_age_ms:
        return "past_time"
    start = entry.time_ms - entry.time_ms % window.pane_ms
    closed = result.watermark_ms is not None and start + window.pane_ms + window.grace_ms <= result.watermark_ms
    _reach(result, min(entry.time_ms, entry.appended_ms))
    if entry.windows is not None and start not in entry.windows:
        return "closed_phase"
    if closed:
        return "late"
    pane = result.panes.setdefault(start, Pane(first_offset=offset))
    if entry.batch_id in pane.batch_ids:
        return "duplicate"
    if most is not None and len(pane.batch_ids) >= most:
        return "too_many_batches"
    pane.batch_ids.add(entry.batch_id)
    pane.reports.extend(entry.reports)
    pane.answers.setdefault(entry.question, []).extend(entry.reports)
    return "counted"


def window_counts(
    collection: JointCollection, replays: Iterable[Replay], of: Sequence[str]
) -> Mapping[int, Counter[Bits]]:
    """Count how often each row of the attributes `of` occurs in every window that holds reports."""
    columns = collection.bits_of(of)
    window = collection.window
    counts: dict[int, Counter[Bits]] = {}
    for each in replays:
        for start, pane in each.panes.items():
            # The windows of size s that hold the pane begin at the pane's start and at each hop before it.
            for back in range(0, window.size_ms, window.pane_ms):
                rows = counts.setdefault(start - back, Counter())
                rows.update(tuple(report[column] for column in columns) for report in pane.reports)
    return counts
