"""The watermarks of the source partitions of one collection, in one region: up to when each is counted, by whom.

A region that is behind others can be left out of panes, by a record on the log: see
`stream_ldp.pipeline.partials.CutOff`. What it had sent by then is all that counts of it there.
"""

from collections.abc import Iterator
from typing import NamedTuple

from stream_ldp.pipeline.partials import CutOff, Watermark
from stream_ldp.pipeline.topic_identity import UNASKED
from stream_ldp.pipeline.verdicts import NEVER


class _Mark(NamedTuple):
    """The latest watermark of a generation, event time in milliseconds, and its offset on the log."""

    time_ms: int
    offset: int


class _Gap(NamedTuple):
    """Event times, above the first and up to the last, in milliseconds, that a partition has been left out of."""

    after_ms: int
    until_ms: int


class SourceWatermarks:
    """The latest watermark of each generation of each source partition.

    The earliest generation whose watermark closes a pane has counted all of it; counts of generations before that are
    not valid there.
    """

    def __init__(self, *, partitions: int) -> None:
        """Begin without watermarks.

        partitions: number of source partitions.
        """
        # By source partition and generation.
        self._marks: dict[int, dict[int, _Mark]] = {partition: {} for partition in range(partitions)}
        # By source partition: the offset of the record that it joined by, until it has a watermark.
        self._joined: dict[int, int] = {}
        # By source partition, ascending; and partitions that are still unknown.
        self._gaps: dict[int, list[_Gap]] = {}
        self._gaps_of_others: list[_Gap] = []
        # By the time up to which the region was left out: the offset of the record.
        self._cut_off: dict[int, int] = {}
        self._heard = True
        self._topic = UNASKED
        # The latest generation of an owner of this topic.
        self._latest = NEVER

    @property
    def partitions(self) -> int:
        """Number of source partitions."""
        return len(self._marks)

    @property
    def time_ms(self) -> int | None:
        """Event time, in milliseconds, that every source partition has passed, or has been left out of; None until
        each has a watermark.
        """
        own_ms, cut_off_ms = self.own_ms, max(self._cut_off, default=None)
        return own_ms if cut_off_ms is None else max(cut_off_ms, cut_off_ms if own_ms is None else own_ms)

    @property
    def own_ms(self) -> int | None:
        """Event time, in milliseconds, that every source partition has passed; None until each has a watermark."""
        if not self._marks or not all(self._marks.values()):
            return None
        return min(max(marks.values()).time_ms for marks in self._marks.values())

    @property
    def passed(self) -> tuple[tuple[int, int], ...]:
        """The furthest watermark of each source partition that has one: (partition, event time in milliseconds)."""
        return tuple((partition, max(marks.values()).time_ms) for partition, marks in self._marks.items() if marks)

    @property
    def heard(self) -> bool:
        """Whether a watermark has come since the region was left out for the last time."""
        return self._heard

    @property
    def offsets(self) -> Iterator[int]:
        """The offsets, on the log, of all records that are needed."""
        yield from (mark.offset for marks in self._marks.values() for mark in marks.values())
        yield from self._joined.values()
        yield from self._cut_off.values()

    def widen(self, partitions: int) -> None:
        """Wait for so many source partitions, unless there are as many."""
        for partition in range(self.partitions, partitions):
            self._marks[partition] = {}
            self._gaps[partition] = self._gaps_of_others.copy()

    def follow(self, record: Watermark) -> bool:
        """Wait for the partitions that a watermark says there are, in a region whose brokers cannot be asked.

        Owners of a topic that has been made again, with fewer partitions perhaps, have later generations than those
        of the topic before.

        Returns:
            Whether it is of the topic that is there now.
        """
        if record.topic.id not in ("", self._topic.id):
            if record.generation <= self._latest:
                return False
            for partition in range(record.topic.partitions, self.partitions):
                for known in (self._marks, self._joined, self._gaps):
                    known.pop(partition, None)
            self._topic = record.topic
        self._latest = max(self._latest, record.generation)
        self.widen(max(record.topic.partitions, record.partition + 1))
        return True

    def cut_off(self, record: CutOff, *, offset: int) -> None:
        """Take note that the region is left out up to a time, but for what it has closed itself."""
        passed = dict(record.passed)
        self.widen(max(passed, default=-1) + 1)
        for partition, own_ms in self.passed:
            passed[partition] = max(own_ms, passed.get(partition, own_ms))
        for partition in self._marks:
            _add(self._gaps.setdefault(partition, []), _Gap(passed.get(partition, NEVER), record.time_ms))
        _add(self._gaps_of_others, _Gap(NEVER, record.time_ms))
        self._cut_off.setdefault(record.time_ms, offset)
        self._heard = False

    def leaves_out(self, partition: int, closes_ms: int) -> bool:
        """Decide whether a partition has been left out of what closes at an event time."""
        gaps = self._gaps.get(partition, self._gaps_of_others)
        return any(after_ms < closes_ms <= until_ms for after_ms, until_ms in gaps)

    def leaves_out_any(self, first_ms: int, last_ms: int) -> bool:
        """Decide whether a partition has been left out of anything that closes from one event time to another."""
        gaps = [self._gaps_of_others] if not self._marks else [self._gaps.get(each, []) for each in self._marks]
        return any(after_ms < last_ms and first_ms <= until_ms for each in gaps for after_ms, until_ms in each)

    def has_passed(self, closes_ms: int) -> bool:
        """Decide whether every partition has passed an event time by itself."""
        return bool(self._marks) and all(
            marks and closes_ms <= max(marks.values()).time_ms for marks in self._marks.values()
        )

    def advance(self, record: Watermark, *, offset: int) -> tuple[int | None, int] | None:
        """Record a watermark.

        Returns:
            The event times that the generation had reached before, None for none, and has reached now; None instead
            of both if it has not moved.
        """
        marks = self._marks[record.partition]
        before = marks.get(record.generation)
        if record.time_ms is None and not marks:
            self._joined[record.partition] = offset
        if record.time_ms is None or (before is not None and record.time_ms <= before.time_ms):
            return None
        self._joined.pop(record.partition, None)
        self._heard = True
        marks[record.generation] = _Mark(record.time_ms, offset)
        return None if before is None else before.time_ms, record.time_ms

    def closed_by(self, partition: int, closes_ms: int) -> int | None:
        """Return the first generation that has passed an event time; None if none has, or if it has been left out."""
        if self.leaves_out(partition, closes_ms):
            return None
        marks = self._marks.get(partition, {}).items()
        return min((generation for generation, mark in marks if closes_ms <= mark.time_ms), default=None)

    def forget(self, *, before_ms: int) -> None:
        """Forget generations that have not reached an event time, but for the furthest of each partition."""
        for partition, marks in self._marks.items():
            furthest = max(marks.values(), default=_Mark(NEVER, 0)).time_ms
            self._marks[partition] = {
                generation: mark for generation, mark in marks.items() if mark.time_ms >= min(before_ms, furthest)
            }
        if self._cut_off:
            latest = max(self._cut_off)
            # The gaps stay: they say of partials that come much later that they are late.
            self._cut_off = {
                until: offset for until, offset in self._cut_off.items() if until >= min(before_ms, latest)
            }


def _add(gaps: list[_Gap], gap: _Gap) -> None:
    """Add a gap that is not before the others, and join it with the last one if they touch."""
    if gap.until_ms <= gap.after_ms or (gaps and gap.until_ms <= gaps[-1].until_ms):
        return
    if gaps and gap.after_ms <= gaps[-1].until_ms:
        gap = _Gap(min(gaps[-1].after_ms, gap.after_ms), gap.until_ms)
        gaps.pop()
    gaps.append(gap)
