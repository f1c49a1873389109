"""The merge of the partials of all source partitions into the windows of one collection.

It is a pure fold of the partials log. A partial replaces an earlier one and is never added to it, so any order,
repetition and restart give the same windows. The merge also takes note of the final answers on the log, and never
asks for them again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stream_ldp.pipeline.answer import Answer, RegionPart, RegionState
from stream_ldp.pipeline.late_partials import LatePartials
from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint, file_digest
from stream_ldp.pipeline.newest_finals import NewestFinals
from stream_ldp.pipeline.partials import CutOff, MergeRecord, Partial, PartialError, Watermark
from stream_ldp.pipeline.region_watermarks import ForeignSource, RegionWatermarks
from stream_ldp.pipeline.topic_identity import TopicIdentity
from stream_ldp.pipeline.undecided import UndecidedWindows
from stream_ldp.pipeline.window_task import Scratch, WindowTask
from stream_ldp.pipeline.windows import FIRST_MS, LAST_MS, closes_at, panes_of, windows_of
from stream_ldp.pipeline.wire import MAX_REPORTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.collection import Collection, Series
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.source import Source
    from stream_ldp.pipeline.statistics import Statistic, Tally

#: Number of statistics whose form is known at a time: more than a collection has series, or open rounds.
_FORMS = 256

#: Most reports of a partial: a terabyte of the shortest ones in a single pane of a single partition. The sums of the
#: partials of thousands of partitions stay within 64 bits.
_MAX_REPORTS = 2**40

#: Most windows that `refresh` looks at in one call, and most panes that `forget` drops: some milliseconds of work, so
#: that after a long outage the caller's event loop goes on turning.
_WINDOWS_PER_CALL, _PANES_PER_CALL = 500, 500

#: Windows of a series whose solves leave something to the next: the one that closes, and the one after it.
_SCRATCHES = 2


class _Held(NamedTuple):
    """A partial, and its offset on the log."""

    partial: Partial
    offset: int


class Merge:
    """The windows of one collection."""

    def __init__(self, collection: Collection, *, partitions: int, regions: Sequence[str] = ("",)) -> None:
        """Begin without partials.

        partitions: number of source partitions of the home; a window is final when each of them has closed it.
        regions: names of the regions that count, the home first, whose brokers the merge is connected to. Of the
            partitions of others, it hears by their watermarks.
        """
        self.collection = collection
        self.late = LatePartials()
        self._fingerprint = collection.fingerprint.hex()
        self._file = file_digest(collection)
        self._watermarks = RegionWatermarks(regions, partitions=partitions)
        self._topic_id = ""
        self._finals = NewestFinals(collection)
        # By pane and statistic: the partial of each source and segment.
        self._panes: dict[int, dict[tuple[str, ...], dict[tuple[Source, int], _Held]]] = {}
        self._starts: list[int] = []  # starts of the panes, ascending
        # By statistic: a tally of its form, and the layout of the reports that it counts.
        self._forms: dict[tuple[str, ...], tuple[Tally, Layout]] = {}
        self._forgotten_before: int | None = None
        self._series = tuple(collection.series)
        self._undecided = UndecidedWindows(self._series, collection.window)
        # Panes that may have begun or ceased to hold reports of a series since `refresh` looked. Not a set: one that
        # was large is slow to pop from forever.
        self._stale: dict[int, None] = {}
        # By series: panes whose reports changed since `changed` looked.
        self._changed: dict[str, set[int]] = {series.name: set() for series in self._series}
        # By series and window, those asked for last at the end.
        self._scratches: dict[tuple[str, int], Scratch] = {}

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the collection, in hexadecimal."""
        return self._fingerprint

    @property
    def regions(self) -> RegionWatermarks:
        """The watermarks of the source partitions, by region."""
        return self._watermarks

    @property
    def partitions(self) -> int:
        """Number of source partitions of the home."""
        return self._watermarks.home.partitions

    @property
    def topic(self) -> TopicIdentity:
        """The reports topic, as far as it is known here."""
        return TopicIdentity(id=self._topic_id, partitions=self.partitions)

    def has(self, source: Source) -> bool:
        """Decide whether there is a source partition, as far as is known."""
        return source.region in self._watermarks and source.partition < self._watermarks[source.region].partitions

    def widen(self, topic: TopicIdentity) -> None:
        """Close no further window before all partitions that the reports topic has now.

        What has been closed stays closed, since the watermark of a partition that is added begins there: see
        `stream_ldp.pipeline.closed_so_far`.
        """
        self._topic_id = topic.id
        self._watermarks.home.widen(topic.partitions)

    @property
    def watermark_ms(self) -> int | None:
        """Event time, in milliseconds, that all has passed that windows wait for; None until it has."""
        return self._watermarks.time_ms

    @property
    def panes(self) -> int:
        """Number of panes held."""
        return len(self._panes)

    @property
    def checkpoint(self) -> MergeCheckpoint | None:
        """The places on the logs from which this merge can be rebuilt; None as long as that is from all of them."""
        if self._forgotten_before is None:
            return None
        held = (held.offset for of in self._panes.values() for sources in of.values() for held in sources.values())
        finals = list(self._finals.offsets(self._series))
        return MergeCheckpoint(
            answers=min(finals, default=0),
            answers_end=max(finals, default=-1) + 1,
            partials=min(chain(held, self._watermarks.offsets), default=0),
            forgotten_before_ms=self._forgotten_before,
            regions=self._watermarks.names,
        )

    def resume(self, checkpoint: MergeCheckpoint) -> None:
        """Go on, without any record yet, as the merge that made a checkpoint."""
        self._forgotten_before = checkpoint.forgotten_before_ms

    def expect(self, layout: Layout) -> None:
        """Refuse partials that have the name, but not the form or a pane, of a statistic of this layout."""
        self._forms |= {of: (tally, layout) for of, tally in layout.tallies().items()}
        for oldest in list(self._forms)[:-_FORMS]:
            del self._forms[oldest]

    def apply(self, record: MergeRecord, *, offset: int = 0) -> None:
        """Take a record of the partials topic into account.

        offset: that of the record, in the collection's partition of the topic; see `checkpoint`.

        Raises:
            ForeignSource: it is of a region that the merge does not wait for, or promises windows of another version
                of the collection's file.
            PartialError: it was made for another collection, for a partition that the topic does not have, or for a
                pane that no window has; it is of a time that nobody can write down; or its counts are not those of
                any reports.
        """
        if record.fingerprint != self._fingerprint:
            raise PartialError(
                f"a partial of fingerprint {record.fingerprint} cannot be merged into collection "
                f"{self.collection.name!r} of fingerprint {self._fingerprint}"
            )
        watermarks = self._watermarks.find(record)
        if isinstance(record, CutOff):
            self._cut_off(record, offset)
        elif watermarks is self._watermarks.home and record.partition >= self.partitions:
            raise PartialError(
                f"a partial of source partition {record.partition}, but the reports topic has "
                f"{self.partitions} partitions"
            )
        elif isinstance(record, Watermark):
            self._advance(record, offset)
        elif watermarks.leaves_out(record.partition, self._closes_at(record.pane_ms)):
            for part in record.parts:
                self.late.add(part)
        elif self._needs(record.parts[0]):
            for part in record.parts:
                self._require_possible(part)
            for part in record.parts:
                self._hold(part, offset)

    def _needs(self, record: Partial) -> bool:
        """Decide whether anybody needs a pane; not if the window's length was another, or a worker repeats itself."""
        return record.pane_length_ms == self.collection.window.pane_ms and (
            self._forgotten_before is None or record.pane_ms >= self._forgotten_before
        )

    def _require_possible(self, record: Partial) -> None:
        """Refuse a partial of a pane that no window has, or whose counts are not those of any reports."""
        if record.pane_ms % record.pane_length_ms:
            raise PartialError(f"a partial of a pane that begins at {record.pane_ms} ms, where none begins")
        windows = windows_of(record.pane_ms, self.collection.window)
        if windows[0] < FIRST_MS or windows[-1] + self.collection.window.size_ms > LAST_MS:
            raise PartialError(f"a partial of a pane that begins at {record.pane_ms} ms, beyond the years 1 to 9999")
        reports = record.counts.reports
        if not 0 <= reports <= min(record.end * MAX_REPORTS, _MAX_REPORTS):
            raise PartialError(
                f"a partial of {reports} reports, more than the {record.end} records before it can hold"
            )
        tally, layout = self._forms.get(record.of, (None, None))
        if tally is not None and not tally.fits(record.counts):
            raise PartialError(f"a partial of {'/'.join(record.of)} whose counts are not those of any reports to it")
        if layout is not None and not layout.takes(np.array([record.pane_ms])).all():
            raise PartialError(f"a partial of {'/'.join(record.of)} in a pane in which nobody reports to it")

    def _hold(self, record: Partial, offset: int) -> None:
        """Hold a partial, unless one that reaches as far is held."""
        if record.pane_ms not in self._panes:
            self._panes[record.pane_ms] = {}
            insort(self._starts, record.pane_ms)
        sources = self._panes[record.pane_ms].setdefault(record.of, {})
        held = sources.setdefault((record.source, record.segment), _Held(record, offset))
        if (held.partial.generation, held.partial.end) < (record.generation, record.end):
            sources[record.source, record.segment] = _Held(record, offset)
        self._stale[record.pane_ms] = None

    def _cut_off(self, record: CutOff, offset: int) -> None:
        """Leave a region out of what it has not closed by now."""
        _require_time(record.time_ms)
        self._watermarks[record.region].cut_off(record, offset=offset)
        closed = self._starts[: self._number_closed(record.time_ms)]
        self._stale |= dict.fromkeys(closed)
        for partial, _ in chain.from_iterable(
            held.values() for pane in closed for held in self._panes[pane].values()
        ):
            if partial.region == record.region:
                self.late.expect(partial)

    def _advance(self, record: Watermark, offset: int) -> None:
        """Note that a generation closed panes; this may invalidate, or validate, what another counted in them."""
        _require_time(record.time_ms)
        if record.region and record.file != self._file:
            raise ForeignSource(
                f"a watermark of region {record.region!r}, which counts another version of the collection's file "
                "-> register the same file in all regions"
            )
        watermarks = self._watermarks[record.region]
        if watermarks is not self._watermarks.home and not watermarks.follow(record):
            return
        moved = watermarks.advance(record, offset=offset)
        if moved is not None:
            before_ms, after_ms = moved
            first = 0 if before_ms is None else self._number_closed(before_ms)
            self._stale |= dict.fromkeys(self._starts[first : self._number_closed(after_ms)])

    def _number_closed(self, time_ms: int) -> int:
        """Count the panes held that a watermark of `time_ms` closes."""
        return bisect_right(self._starts, time_ms, key=self._closes_at)

    def decide(self, answer: Answer, *, offset: int = 0) -> None:
        """Take note of a final answer that is on the log.

        offset: that of its record, in the answers topic; see `checkpoint`.
        """
        changed = self._finals.add(answer, offset=offset)
        self._undecided.decide(answer.series, answer.window.end_ms)
        self._scratches.pop((answer.series, answer.window.start_ms), None)
        # What a window asks can depend on finals of the previous window, and on no others: see `Series.follows`.
        size_ms = self.collection.window.size_ms
        self._stale |= dict.fromkeys(each.window.start_ms + size_ms for each in changed)

    def skip(self, series: str, end_ms: int) -> None:
        """Take note that there is a final answer to the window with this end, although it cannot be read."""
        self._undecided.decide(series, end_ms)

    def skip_forgotten(self) -> None:
        """Take note that finals may be lost: of the windows that it has forgotten, none was silent without one."""
        if self._forgotten_before is not None:
            for series in self._series:
                self._undecided.decide(series.name, self._forgotten_before + self.collection.window.size_ms - 1)

    def holds(self, window_ms: int) -> bool:
        """Decide whether all that the answer to a window depends on is held, if it has come; see `forget`."""
        first_ms = min([window_ms, *(start for _, start in self.collection.windows_before(window_ms))])
        return self._forgotten_before is None or first_ms >= self._forgotten_before

    def has_final(self, window_ms: int) -> bool:
        """Decide whether any series has its final answer to a window, or to a later one."""
        end_ms = window_ms + self.collection.window.size_ms
        return any(self.has_decided(each, end_ms) for each in self._series)

    def has_decided(self, series: Series, end_ms: int) -> bool:
        """Decide whether a series has its final answer to the window with this end, or to a later one."""
        decided_ms = self._undecided.decided_ms(series)
        return decided_ms is not None and decided_ms >= end_ms

    def is_decided(self, pane: int) -> bool:
        """Decide whether all windows of a pane have their final answers."""
        return all(self._undecided.is_decided(pane, series) for series in self._series)

    def closed_by(self, source: Source, pane: int) -> int | None:
        """Return the generation that closed a pane of a source partition, as far as is known; None if none did."""
        return self._watermarks.closed_by(source, self._closes_at(pane))

    def needs_watermark(self, source: Source, generation: int) -> bool:
        """Decide whether counts of a generation would be valid if it, and not a later one, had closed their pane."""
        return any(
            partial.source == source and partial.generation == generation
            for pane, statistics in self._panes.items()
            if (self.closed_by(source, pane) or 0) > generation and not self.is_decided(pane)
            for sources in statistics.values()
            for partial, _ in sources.values()
        )

    @property
    def decided(self) -> list[Answer]:
        """The newest final answers of every series, oldest first."""
        return self._finals.all()

    def earlier(self, window_ms: int) -> dict[str, Answer]:
        """Return the last final answer before a window of each series that has one, by the name of the series."""
        return self._finals.earlier(window_ms)

    def refresh(self) -> bool:
        """Look at panes that have changed, a bounded number of them, and return whether all have been looked at.

        The methods below do what is left of it. A caller with other things to do calls this first, until it is true.
        """
        left = max(1, _WINDOWS_PER_CALL // (len(self._series) * self.collection.window.panes))
        while self._stale and left:
            self._look_at(self._stale.popitem()[0])
            left -= 1
        return not self._stale

    def due(self) -> WindowTask[Any, Any] | None:
        """Return the task whose answer has to be made final next; None if nothing is due.

        Finals are due in the order of their windows. Each answer starts from the previous final, which may even add
        another window in between: decide this one before the next.
        """
        self._refresh()
        due = [(*bounds, series) for series in self._series if (bounds := self._due(series)) is not None]
        if not due:
            return None
        start, silent_until_ms, series = min(due, key=lambda each: each[0])
        if silent_until_ms is None:
            return self.task(start, series, final=True)
        # Nothing is taken from the previous final, unless it is the one that asked.
        before = None if series.period_ms(self.collection.window) else self._finals.before(start, series)
        return WindowTask(
            series=series,
            window_ms=start,
            final=True,
            windows=((1.0, ()),),
            before=before,
            silent_until_ms=silent_until_ms,
            sources=self._sources_of(start, silent_until_ms, of=None),
        )

    def _due(self, series: Series) -> tuple[int, int | None] | None:
        """Return the start of the next window of a series that is due, and the end of its silence if it is silent."""
        start = self._undecided.first_of(series)
        if start is not None and not self._is_closed(start):
            start = None
        silence = self._silence(series, before=start)
        if silence is not None and (start is None or silence[0] < start):
            return silence
        return None if start is None else (start, None)

    def _silence(self, series: Series, *, before: int | None) -> tuple[int, int] | None:
        """Return the bounds of windows without reports whose finals have yet to say so.

        The first such window after one with reports is decided at once, all others together when a window with
        reports follows. So nothing more is published for a collection without reports. The window of a later phase is
        decided if a final has asked that phase.

        before: start of the next window that holds reports and is closed; None if there is none.
        """
        if (self.collection.min_reports or 1) > 1:
            return None  # That there were none is not published either, where the file asks for a floor.
        window, decided_ms = self.collection.window, self._undecided.decided_ms(series)
        period_ms = series.period_ms(window)
        if period_ms is None:
            name, _ = series.follows(0)
            asked = (final.window.end_ms for final in self._finals.of(name) if series.statistic(final))
            silent = (
                start
                for start in asked
                if (decided_ms is None or decided_ms < start + window.size_ms)
                and self._is_closed(start)
                and not self._undecided.holds(start, series)
            )
            start = min(silent, default=None)
            return None if start is None else (start, start + window.size_ms)
        if decided_ms is None:
            return None
        start = ((decided_ms - window.size_ms) // period_ms + 1) * period_ms
        if self._finals.silent_until(series.name) != decided_ms:
            decided = self._is_closed(start) and not self._undecided.holds(start, series)
            return (start, start + window.size_ms) if decided else None
        return None if before is None or before <= start else (start, before - period_ms + window.size_ms)

    def changed(self, series: Series) -> list[int]:
        """List the open windows of a series, by their start, whose reports changed since the last call.

        Earliest first; some of them may hold as many reports as before.
        """
        self._refresh()
        panes, self._changed[series.name] = self._changed[series.name], set()
        starts: list[int] = []
        for pane in sorted(panes):
            of_pane = windows_of(pane, self.collection.window)
            starts += [start for start in of_pane if not starts or starts[-1] < start]
        return [start for start in starts if self.is_open(start, series)]

    def has_changed(self, series: Series) -> bool:
        """Decide whether `changed` has anything to look at."""
        self._refresh()
        return bool(self._changed[series.name])

    def undecided(self) -> list[tuple[int, Series]]:
        """List the windows that hold reports and have no final answer, by start and series, earliest first."""
        self._refresh()
        return self._undecided.all()

    def is_open(self, window_ms: int, series: Series) -> bool:
        """Decide whether a window of a series holds reports and still takes more."""
        return self._undecided.holds(window_ms, series) and not self._is_closed(window_ms)

    def task(self, window_ms: int, series: Series, *, final: bool) -> WindowTask[Any, Any]:
        """Put together all that the answer to one window depends on, as of now."""
        before = self._finals.before(window_ms, series)
        of = series.statistic(before)
        return WindowTask(
            series=series,
            window_ms=window_ms,
            final=final,
            windows=tuple(
                (weight, self._parts(start, of))
                for weight, start in ((1.0, window_ms), *self.collection.windows_before(window_ms))
            ),
            before=before,
            sources=self._sources_of(window_ms, window_ms + self.collection.window.size_ms, of=of),
            scratch=self._scratch_of(window_ms, series),
        )

    def _scratch_of(self, window_ms: int, series: Series) -> Scratch:
        scratch = self._scratches.pop((series.name, window_ms), None) or Scratch()
        self._scratches[series.name, window_ms] = scratch
        for oldest in list(self._scratches)[: -_SCRATCHES * len(self._series)]:
            del self._scratches[oldest]
        return scratch

    def _sources_of(self, start_ms: int, end_ms: int, *, of: tuple[str, ...] | None) -> tuple[RegionPart, ...] | None:
        """Return what each region has counted of a statistic from one pane to another; None without regions.

        If any region has counted fewer reports than `min_reports`, the parts have no numbers of reports.
        """
        names = self._watermarks.names
        if names == ("",):
            return None
        panes = range(start_ms, end_ms, self.collection.window.pane_ms)
        reports = dict.fromkeys(names, 0)
        for partial in chain.from_iterable(self._partials(pane, of) for pane in panes if pane in self._panes):
            reports[partial.region] += int(partial.counts.reports)
        told = min(reports.values()) >= self.collection.floor or self.collection.floor == 1
        return tuple(
            RegionPart(
                region=name,
                state=self._state_of(name, panes),
                reports=reports[name] if told else None,
            )
            for name in names
        )

    def _state_of(self, region: str, panes: range) -> RegionState:
        watermarks = self._watermarks[region]
        first_ms, last_ms = self._closes_at(panes[0]), self._closes_at(panes[-1])
        if watermarks.leaves_out_any(first_ms, last_ms):
            return RegionState.CUT_OFF
        return RegionState.WHOLE if watermarks.has_passed(last_ms) else RegionState.OPEN

    def newest_offset(self, window_ms: int) -> int:
        """Return the offset of the newest partial that an answer to a window may depend on; -1 if there is none."""
        starts = [window_ms, *(start for _, start in self.collection.windows_before(window_ms))]
        panes = (self._panes.get(pane, {}) for start in starts for pane in panes_of(start, self.collection.window))
        return max((held.offset for of in panes for held in chain(*map(dict.values, of.values()))), default=-1)

    def forget(self) -> None:
        """Drop panes that no undecided or later window needs, a bounded number of them in one call."""
        watermark = self.watermark_ms
        if watermark is None:
            return
        self._refresh()
        window = self.collection.window
        remembered_ms = (self.collection.most_windows - 1) * window.size_ms
        # The first open window is the one whose last pane closes at the first multiple of a pane that is still ahead.
        first_open = watermark - window.grace_ms - window.size_ms
        first_open += window.pane_ms - first_open % window.pane_ms
        first = self._undecided.first()
        needed_by = first_open if first is None else min(first[0], first_open)
        forgotten = self._starts[: bisect_left(self._starts, needed_by - remembered_ms)][:_PANES_PER_CALL]
        for start in forgotten:
            del self._panes[start]
        # Of a series without provisional answers, nobody ever asks what has changed.
        for changed in self._changed.values():
            changed.difference_update(forgotten)
        del self._starts[: len(forgotten)]
        self._stale |= dict.fromkeys(forgotten)
        self._forgotten_before = min([needed_by - remembered_ms, *self._starts[:1]])
        # Generations that closed no other panes are not needed either, but for the furthest of each partition.
        self._watermarks.forget(before_ms=closes_at(self._forgotten_before, window))

    def _refresh(self) -> None:
        while not self.refresh():
            pass

    def _look_at(self, pane: int) -> None:
        for series in self._series:
            if self._holds_reports(pane, series):
                self._undecided.fill(pane, series)
                if not self._is_closed(pane):
                    self._changed[series.name].add(pane)
            else:
                self._undecided.empty(pane, series)

    def _is_closed(self, window_ms: int) -> bool:
        watermark, last_pane = self.watermark_ms, panes_of(window_ms, self.collection.window)[-1]
        return watermark is not None and self._closes_at(last_pane) <= watermark

    def _holds_reports(self, pane: int, series: Series) -> bool:
        """Decide whether a pane holds reports of a series.

        For a series whose statistic depends on the answer before, a pane is a whole window.
        """
        return any(self._partials(pane, series.statistic(self._finals.before(pane, series))))

    def _closes_at(self, pane: int) -> int:
        return closes_at(pane, self.collection.window)

    def _parts(self, window_ms: int, of: tuple[str, ...] | None) -> tuple[Statistic, ...]:
        return tuple(
            partial.counts
            for pane in panes_of(window_ms, self.collection.window)
            for partial in self._partials(pane, of)
        )

    def _partials(self, pane: int, of: tuple[str, ...] | None) -> Iterator[Partial]:
        """Iterate over the valid partials of a pane.

        The generation that closes a pane has counted all of it. A partial of an earlier generation that it has not
        replaced was written after that, and does not count.
        """
        if of is None:
            return
        for partial, _ in self._panes.get(pane, {}).get(of, {}).values():
            if partial.generation >= (self.closed_by(partial.source, pane) or 0):
                yield partial


def _require_time(time_ms: int | None) -> None:
    """Refuse the event time of a watermark, in milliseconds, that nobody can write down."""
    if time_ms is not None and not FIRST_MS <= time_ms <= LAST_MS:
        raise PartialError(f"a watermark of {time_ms} ms, beyond the years 1 to 9999")
