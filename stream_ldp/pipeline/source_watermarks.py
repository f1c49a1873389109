"""The watermarks of the source partitions of one collection: up to when each is counted, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.pipeline.partials import Watermark


class _Mark(NamedTuple):
    """The latest watermark of a generation, event time in milliseconds, and its offset on the log."""

    time_ms: int
    offset: int


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

    @property
    def partitions(self) -> int:
        """Number of source partitions."""
        return len(self._marks)

    @property
    def time_ms(self) -> int | None:
        """Event time, in milliseconds, that every source partition has passed; None until each has a watermark."""
        if not self._marks or not all(self._marks.values()):
            return None
        return min(max(marks.values()).time_ms for marks in self._marks.values())

    @property
    def offsets(self) -> Iterator[int]:
        """The offsets of all of them on the log."""
        return (mark.offset for marks in self._marks.values() for mark in marks.values())

    def widen(self, partitions: int) -> None:
        """Wait for so many source partitions, unless there are as many."""
        for partition in range(self.partitions, partitions):
            self._marks[partition] = {}

    def advance(self, record: Watermark, *, offset: int) -> tuple[int | None, int] | None:
        """Take note of a watermark.

        Returns:
            The event time that the generation had reached before, None if it had none, and that which it has reached
            now; None if it has not moved.
        """
        marks = self._marks[record.partition]
        before = marks.get(record.generation)
        if record.time_ms is None or (before is not None and record.time_ms <= before.time_ms):
            return None
        marks[record.generation] = _Mark(record.time_ms, offset)
        return None if before is None else before.time_ms, record.time_ms

    def closed_by(self, partition: int, closes_ms: int) -> int | None:
        """Return the first generation that has passed an event time; None if none has."""
        marks = self._marks[partition].items()
        return min((generation for generation, mark in marks if closes_ms <= mark.time_ms), default=None)

    def forget(self, *, before_ms: int) -> None:
        """Forget generations that have not reached an event time, but for the furthest of each partition."""
        for partition, marks in self._marks.items():
            furthest = max(marks.values()).time_ms
            self._marks[partition] = {
                generation: mark for generation, mark in marks.items() if mark.time_ms >= min(before_ms, furthest)
            }
