"""The newest final answers of each series of one collection, which the next ones start from."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.collection import AUTO_PERIOD, MAX_PERIOD, Collection, Series
from stream_ldp.filtering.period import CYCLES, period_of
from stream_ldp.pipeline.answer import Answer, AnswerT, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stream_ldp.pipeline.cells import CellKey

#: Number of final answers kept of each series: the newest and the one before it. With pipelined epochs, phase 1 of a
#: window is solved before phase 2 of the same window, which starts from phase 1 of the previous window: by then that
#: is the last but one.
KEPT_FINALS = 2

#: Most numbers of an answer by which a period is sought.
_COMPARED = 64


def kept_finals(collection: Collection) -> int:
    """Return how many final answers of each series are kept: all those of a period, where windows alternate."""
    if collection.window.period_ms == AUTO_PERIOD:
        return MAX_PERIOD
    return max(KEPT_FINALS, collection.period_turns + 1)


def period_ms_of(collection: Collection, finals: Sequence[Answer]) -> int | None:
    """Return the period after which windows are of the same sort: that of the file, or that found from the finals.

    finals: of a series that have reports, oldest first.

    Returns: In milliseconds; None where the last window is the prior.
    """
    if collection.window.period_ms != AUTO_PERIOD:
        return collection.window.period_ms
    run = _run(finals[-MAX_PERIOD:], every_ms=collection.turn_ms)
    numbers = [_numbers(final) for final in run]
    common = [key for key in numbers[0] if all(key in each for each in numbers)] if numbers else []
    if not common:
        return None
    values = np.array([[each[key] for key in common] for each in numbers])
    found = period_of(values[..., 0], values[..., 1], most=MAX_PERIOD // CYCLES)
    return None if found is None else found * collection.turn_ms


def _run(finals: Sequence[Answer], *, every_ms: int) -> list[Answer]:
    """Return the newest finals that follow each other without a gap."""
    run: list[Answer] = []
    for final in reversed(finals):
        if run and final.window.start_ms + every_ms != run[-1].window.start_ms:
            break
        run.append(final)
    return run[::-1]


def _numbers(final: Answer) -> dict[CellKey, tuple[float, float]]:
    """Return the first numbers of an answer whose errors are known, and these."""
    cells = (cell for cell in final.cells() if cell.names and cell.standard_error and not math.isnan(cell.estimate))
    return {cell.key: (cell.estimate, cell.standard_error or 0.0) for cell in itertools.islice(cells, _COMPARED)}


def final_followed(finals: Sequence[AnswerT], *, start_ms: int | None, same_phase_ms: int | None) -> AnswerT | None:
    """Find the final that an answer starts from; None if there is none.

    finals: of the series that it follows, oldest first.
    start_ms: start of its window, where only that will do: see `Series.follows`.
    same_phase_ms: start of the window one period before, which is taken if it has a final; else it is the newest.
    """
    by_start = {final.window.start_ms: final for final in finals}
    if start_ms is not None:
        return by_start.get(start_ms)
    if same_phase_ms in by_start:
        return by_start[same_phase_ms]
    return finals[-1] if finals else None


class NewestFinals:
    """The newest finals of each series, and where on the answers topic they are."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        # By series, in the order of their windows.
        self._finals: dict[str, list[Answer]] = {}
        # By series: the end of the newest windows with a final of status `no-reports`.
        self._silent_ms: dict[str, int] = {}
        # By series, the period of its finals, until there is another of them.
        self._periods: dict[str, int | None] = {}
        # By series, and end of the window, of the finals in the two above: their offsets on the log.
        self._offsets: dict[str, dict[int, int]] = {}

    def add(self, answer: Answer, *, offset: int) -> list[Answer]:
        """Take note of a final that is on the log, at an offset of the answers topic.

        Returns:
            The finals that may be there since then, or not any more; none for one that has no reports.
        """
        series, end_ms = answer.series, answer.window.end_ms
        offsets = self._offsets.setdefault(series, {})
        offsets.setdefault(end_ms, offset)
        if answer.status is Status.NO_REPORTS:
            self._silent_ms[series] = max(self._silent_ms.get(series, end_ms), end_ms)
            finals = {}
        else:
            finals = {each.window.end_ms: each for each in self._finals.get(series, ())}
            finals.setdefault(end_ms, answer)
            self._periods.pop(series, None)
            self._finals[series] = [finals[final] for final in sorted(finals)[-kept_finals(self._collection) :]]
        needed = {each.window.end_ms for each in self._finals.get(series, ())} | {self._silent_ms.get(series)}
        self._offsets[series] = {end: at for end, at in offsets.items() if end in needed}
        return list(finals.values())

    def of(self, series: str) -> tuple[Answer, ...]:
        """Return the newest finals of a series, given by name, that have reports; oldest first."""
        return tuple(self._finals.get(series, ()))

    def all(self) -> list[Answer]:
        """Return the newest finals of every series that have reports, oldest first."""
        return sorted(
            (answer for finals in self._finals.values() for answer in finals), key=lambda each: each.window.end_ms
        )

    def silent_until(self, series: str) -> int | None:
        """Return the end of the newest windows in which, by a final, nobody reported; None without such a final."""
        return self._silent_ms.get(series)

    def before(self, window_ms: int, series: Series) -> Answer | None:
        """Find the final that the answer to a window starts from: see `Series.follows`."""
        name, start_ms = series.follows(window_ms)
        finals = self._finals.get(name, ())
        if name not in self._periods:
            self._periods[name] = period_ms_of(self._collection, finals)
        same_phase_ms = self._collection.same_phase_ms(window_ms, period_ms=self._periods[name])
        return final_followed(finals, start_ms=start_ms, same_phase_ms=same_phase_ms)

    def earlier(self, window_ms: int) -> dict[str, Answer]:
        """Return the last final before a window of each series that has one, by the name of the series."""
        found = {
            name: [final for final in finals if final.window.start_ms < window_ms]
            for name, finals in self._finals.items()
        }
        return {name: finals[-1] for name, finals in found.items() if finals}

    def offsets(self, series: Iterable[Series]) -> Iterator[int]:
        """Yield the offsets of the finals of some series that the next ones depend on."""
        return (offset for each in series for offset in self._offsets.get(each.name, {}).values())
