"""The recount of one window from the log of reports, long after it was counted.

What counted in a window is known from the log alone but for what came late, which depended on how long partitions had
been silent. So the recount is also given what was refused then: the dead letters.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from stream_ldp.pipeline.answer import Answer, Status
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.newest_finals import final_followed, period_ms_of
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.wire import Header

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_ldp.collection import Collection, Series
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.partials import Partial
    from stream_ldp.pipeline.window_task import WindowTask

#: Relative difference up to which two numbers count as equal: linear algebra on another machine adds in another
#: order, and a few thousand additions of numbers with 53 bits lose no more.
TOLERANCE = 1e-9


class Recount:
    """The reports of one window, and of the windows that it remembers, counted again."""

    def __init__(
        self, collection: Collection, *, layouts: Sequence[Layout], window_ms: int, partitions: Iterable[int]
    ) -> None:
        """Begin without reports.

        layouts: of the batches under the collection's own fingerprint, and then of those to rounds.
        window_ms: start of the window, event time in milliseconds.
        partitions: numbers of all partitions of the reports topic.
        """
        own, *rounds = layouts
        self._collection = collection
        self._window_ms = window_ms
        self._begin_ms = min([window_ms, *(start for _, start in collection.windows_before(window_ms))])
        self._end_ms = window_ms + collection.window.size_ms
        self._sources = {partition: SourcePartition(collection, own, partition=partition) for partition in partitions}
        for source in self._sources.values():
            for layout in rounds:
                source.learn(layout)

    @property
    def appended_from_ms(self) -> int:
        """The earliest time, by the broker's clock, at which a report of these windows may have been appended."""
        return self._begin_ms - self._collection.window.ahead_ms

    @property
    def appended_until_ms(self) -> int:
        """The latest such time."""
        return self._end_ms + self._collection.window.max_age_ms

    def add(self, partition: int, records: Sequence[tuple[int, int, bytes]]) -> None:
        """Count those of some records that are batches of the windows.

        records: offset, time of appending in milliseconds, and value of each, in the order of the log, without those
            that were refused.
        """
        ours = [
            record
            for record in records
            if (header := Header.of(record[2])) is not None and self._begin_ms <= header.time_ms < self._end_ms
        ]
        if ours:
            self._sources[partition].count(*map(list, zip(*ours, strict=True)))

    def task(self, series: Series, *, before: Answer | None) -> WindowTask[Any, Any]:
        """Return the task of the window; what is added after the first task is not in it.

        before: the final answer from which the answer continues; None if there is none.
        """
        merge = self._alone if before is None else self._merged(before)
        return merge.task(self._window_ms, series, final=True)

    @cached_property
    def _alone(self) -> Merge:
        """The window without an answer before it, merged once for all series: there can be one for each pair."""
        return self._merged(None)

    def _merged(self, before: Answer | None) -> Merge:
        merge = Merge(self._collection, partitions=len(self._sources))
        if before is not None:
            merge.decide(before)
        for partial in self._partials:
            merge.apply(partial)
        return merge

    @cached_property
    def _partials(self) -> tuple[Partial, ...]:
        for source in self._sources.values():
            source.take_changes()  # the claim of the partition
        changes = [source.take_changes() for source in self._sources.values()]
        return tuple(partial for each in changes if each is not None for partial in each.partials)


def answer_before(collection: Collection, series: Series, window_ms: int, finals: Iterable[Answer]) -> Answer | None:
    """Find the final answer from which the answer to a window continues; None if there is none.

    finals: final answers of the collection, in any order.
    """
    name, start_ms = series.follows(window_ms)
    known = [
        final
        for final in finals
        if final.series == name
        and final.status is Status.ANSWERED
        and (start_ms is not None or final.window.start_ms < window_ms)
    ]
    known.sort(key=lambda each: each.window.start_ms)
    same_phase_ms = collection.same_phase_ms(window_ms, period_ms=period_ms_of(collection, known))
    return final_followed(known, start_ms=start_ms, same_phase_ms=same_phase_ms)


def differences(published: Any, recomputed: Any, *, place: str = "") -> list[str]:
    """List where two messages, as plain data, differ: the place, what was published, and what was recomputed.

    Numbers within `TOLERANCE` of each other are equal.
    """
    if isinstance(published, dict) and isinstance(recomputed, dict):
        found = []
        for name in dict.fromkeys([*published, *recomputed]):
            inner = f"{place}.{name}" if place else name
            found += differences(published.get(name), recomputed.get(name), place=inner)
        return found
    if isinstance(published, list) and isinstance(recomputed, list) and len(published) == len(recomputed):
        pairs = zip(published, recomputed, strict=True)
        return [
            found for number, pair in enumerate(pairs) for found in differences(*pair, place=f"{place}[{number}]")
        ]
    if _equal(published, recomputed):
        return []
    return [f"{place}: published {_short(published)}, recomputed {_short(recomputed)}"]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        if not isinstance(one, int | float) or not isinstance(other, int | float):
            return False
        return abs(one - other) <= TOLERANCE * max(abs(one), abs(other), 1.0)
    return bool(one == other)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


#: The most characters of a value that a difference shows.
_SHOWN = 60
