"""Partials of all source partitions, merged into the windows of one collection.

A pure fold of the partials log: it replaces, never adds, so any order, repetition and restart gives the same
windows. What has been published is told to it, and is never decided again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, Any

from stream_ldp.pipeline.partials import Partial, PartialError, Watermark
from stream_ldp.pipeline.question import Question
from stream_ldp.pipeline.undecided import UndecidedWindows
from stream_ldp.pipeline.windows import closes_at, panes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.collection import Collection, Series
    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.statistics import Statistic

__all__ = ["Merge"]

#: Final answers that are kept of each series: the newest and the one before it. In pipelined epochs, phase 1 of a
#: window is answered before phase 2 of the same window, which goes on from phase 1 of the window before: that is the
#: last but one by then.
_FINALS = 2


class Merge:
    """The windows of one collection."""

    def __init__(self, collection: Collection, *, partitions: int) -> None:
        """`partitions`: number of source partitions, each of which has to close a window before it is final."""
        self.collection = collection
        self._fingerprint = collection.fingerprint.hex()
        # Of each source partition, the furthest that each generation of its owners has come.
        self._watermarks: dict[int, dict[int, int]] = {partition: {} for partition in range(partitions)}
        # Of each pane and statistic, the partial of each source partition and segment.
        self._panes: dict[int, dict[tuple[str, ...], dict[tuple[int, int], Partial]]] = {}
        self._starts: list[int] = []  # of the panes, ascending
        # Of each series, the newest final answers, in the order of their windows.
        self._decided: dict[str, list[Answer]] = {}
        self._forgotten_before: int | None = None
        self._series = tuple(collection.series)
        self._undecided = UndecidedWindows(self._series, collection.window)
        # Panes of which it may have changed whether they hold reports of a series.
        self._changed: set[int] = set()

    @property
    def watermark_ms(self) -> int | None:
        """Event time that every source partition has passed; None until each has one."""
        times = self._watermarks.values()
        return min(max(generations.values()) for generations in times) if all(times) else None

    @property
    def panes(self) -> int:
        """Number of panes held."""
        return len(self._panes)

    def apply(self, record: Partial | Watermark) -> None:
        """Take a record of the partials topic into account.

        Raises:
            PartialError: it was made under another collection, or for a partition that the topic does not have.
        """
        if record.fingerprint != self._fingerprint:
            raise PartialError(
                f"a partial of fingerprint {record.fingerprint} cannot be merged into collection "
                f"{self.collection.name!r} of fingerprint {self._fingerprint}"
            )
        if record.partition not in self._watermarks:
            raise PartialError(
                f"a partial of source partition {record.partition}, but the reports topic has "
                f"{len(self._watermarks)} partitions"
            )
        if isinstance(record, Watermark):
            self._advance(record)
            return
        if record.pane_length_ms != self.collection.window.pane_ms or (
            self._forgotten_before is not None and record.pane_ms < self._forgotten_before
        ):
            # Of a window length used before, or repeated by a delayed worker: no window that is still to come has it.
            return
        if record.pane_ms not in self._panes:
            self._panes[record.pane_ms] = {}
            insort(self._starts, record.pane_ms)
        sources = self._panes[record.pane_ms].setdefault(record.of, {})
        held = sources.setdefault((record.partition, record.segment), record)
        if (held.generation, held.end) < (record.generation, record.end):
            sources[record.partition, record.segment] = record
        self._changed.add(record.pane_ms)

    def _advance(self, record: Watermark) -> None:
        """Note that a generation closed panes; what a former one counted in them may lose its place, or get it."""
        generations = self._watermarks[record.partition]
        before = generations.get(record.generation)
        if before is None or before < record.time_ms:
            generations[record.generation] = record.time_ms
            first = 0 if before is None else self._number_closed(before)
            self._changed.update(self._starts[first : self._number_closed(record.time_ms)])

    def _number_closed(self, time_ms: int) -> int:
        """Number of the panes held that a watermark of `time_ms` closes."""
        return bisect_right(self._starts, time_ms, key=self._closes_at)

    def decide(self, answer: Answer) -> None:
        """Take note of a final answer that is on the log."""
        finals = {each.window.end_ms: each for each in self._decided.get(answer.series, ())}
        finals.setdefault(answer.window.end_ms, answer)
        kept = [finals[end_ms] for end_ms in sorted(finals)[-_FINALS:]]
        self._decided[answer.series] = kept
        self._undecided.decide(answer.series, kept[-1].window.end_ms)
        # What is asked in a window can depend on finals of the window before, and on no others: see `_before`.
        self._changed.update(each.window.start_ms + self.collection.window.size_ms for each in finals.values())

    @property
    def decided(self) -> list[Answer]:
        """The newest final answers of every series, oldest first."""
        return sorted(
            (answer for finals in self._decided.values() for answer in finals),
            key=lambda answer: answer.window.end_ms,
        )

    def due(self) -> list[tuple[int, Series]]:
        """Windows, by their start, and series that can be made final now; in the order in which they must be.

        Each starts from the final before it, which may even say that there is another in between: decide the first,
        then ask again.
        """
        watermark = self.watermark_ms
        if watermark is None:
            return []
        self._look_again()
        return self._undecided.closed(watermark)

    def open(self) -> list[tuple[int, Series]]:
        """Windows that hold reports and cannot be made final yet, and their series, earliest first."""
        self._look_again()
        return self._undecided.open(self.watermark_ms)

    def question(self, window_ms: int, series: Series, *, final: bool) -> Question[Any, Any]:
        """All that the estimate of one window depends on, as of now."""
        window = self.collection.window
        before = self._before(window_ms, series)
        of = series.statistic(before)
        return Question(
            series=series,
            window_ms=window_ms,
            final=final,
            windows=tuple(
                ((window.memory or 1.0) ** age, self._parts(window_ms - age * window.size_ms, of))
                for age in range(window.memory_windows)
            ),
            before=before,
        )

    def _before(self, window_ms: int, series: Series) -> Answer | None:
        """The final answer that one of a window goes on from: see `Series.follows`."""
        name, start_ms = series.follows(window_ms)
        finals = [each for each in self._decided.get(name, ()) if start_ms in (None, each.window.start_ms)]
        return finals[-1] if finals else None

    def forget(self) -> None:
        """Drop the panes that no window still to come looks at; call it when nothing is due."""
        watermark = self.watermark_ms
        if watermark is None:
            return
        window = self.collection.window
        reach = window.memory_windows * window.size_ms - window.pane_ms
        # The last pane of the last window that remembers pane s begins at s + reach; it has closed if
        # s + reach + pane + grace <= watermark.
        latest = watermark - window.grace_ms - window.pane_ms - reach
        self._forgotten_before = latest - latest % window.pane_ms + window.pane_ms
        forgotten = self._starts[: bisect_left(self._starts, self._forgotten_before)]
        for start in forgotten:
            del self._panes[start]
        del self._starts[: len(forgotten)]
        self._changed.update(forgotten)
        # Nor does it look for generations that closed no more than those, but for the furthest of each partition.
        first_close = closes_at(self._forgotten_before, window)
        for partition, generations in self._watermarks.items():
            furthest = max(generations.values())
            self._watermarks[partition] = {
                generation: time_ms
                for generation, time_ms in generations.items()
                if time_ms >= min(first_close, furthest)
            }

    def _look_again(self) -> None:
        """Look at the panes of which something has changed: at no others, or a long outage would take for ever."""
        for pane in self._changed:
            for series in self._series:
                if self._counted(pane, series):
                    self._undecided.fill(pane, series)
                else:
                    self._undecided.empty(pane, series)
        self._changed.clear()

    def _counted(self, pane: int, series: Series) -> bool:
        """Whether a pane holds reports of a series; where those depend on the answer before, it is a whole window."""
        return any(self._partials(pane, series.statistic(self._before(pane, series))))

    def _closes_at(self, pane: int) -> int:
        return closes_at(pane, self.collection.window)

    def _parts(self, window_ms: int, of: tuple[str, ...] | None) -> tuple[Statistic, ...]:
        return tuple(
            partial.counts
            for pane in panes_of(window_ms, self.collection.window)
            for partial in self._partials(pane, of)
        )

    def _partials(self, pane: int, of: tuple[str, ...] | None) -> Iterator[Partial]:
        """What was counted in a pane.

        The generation that closes a pane has counted all of it. What a former one wrote that it did not replace
        came after that.
        """
        if of is None:
            return
        closes = self._closes_at(pane)
        for partial in self._panes.get(pane, {}).get(of, {}).values():
            generations = self._watermarks[partial.partition].items()
            closed_by = min((generation for generation, time_ms in generations if closes <= time_ms), default=0)
            if partial.generation >= closed_by:
                yield partial
