"""Undecided windows: those that hold reports and have no final answer yet."""

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable

from stream_ldp.collection import Series, Window
from stream_ldp.pipeline.windows import windows_of


class UndecidedWindows:
    """The undecided windows of some series, kept in the order in which they have to be answered.

    They are ordered by their start, then by their series. The cost of an update does not depend on the number of
    windows: after an outage, thousands of them are decided one by one.
    """

    def __init__(self, series: Iterable[Series], window: Window) -> None:
        """Begin without undecided windows.

        series: all series, in the order in which one window is solved for them.
        """
        self._series = tuple(series)
        self._window = window
        self._filled_panes: set[tuple[str, int]] = set()
        # By series and undecided window: the number of the window's panes that hold reports.
        self._filled: dict[str, Counter[int]] = {each.name: Counter() for each in self._series}
        # By series: the end of the window of its newest final answer.
        self._decided_ms: dict[str, float] = {each.name: -math.inf for each in self._series}
        # By series: the starts of its undecided windows, ascending.
        self._starts: dict[str, list[int]] = {each.name: [] for each in self._series}

    def fill(self, pane: int, series: Series) -> None:
        """Note that a pane holds reports of a series, if that is not known yet."""
        if (series.name, pane) in self._filled_panes:
            return
        self._filled_panes.add((series.name, pane))
        filled = self._filled[series.name]
        for start in self._windows_with(pane, series):
            filled[start] += 1
            if filled[start] == 1:
                insort(self._starts[series.name], start)

    def empty(self, pane: int, series: Series) -> None:
        """Note that a pane holds no reports of a series, whether or not it held any before."""
        if (series.name, pane) not in self._filled_panes:
            return
        self._filled_panes.remove((series.name, pane))
        filled, starts = self._filled[series.name], self._starts[series.name]
        for start in self._windows_with(pane, series):
            filled[start] -= 1
            if not filled[start]:
                del filled[start]
                del starts[bisect_left(starts, start)]

    def decide(self, name: str, end_ms: int) -> None:
        """Note that all windows of a series that end at `end_ms` or before are decided.

        end_ms: nothing happens if it is less than before for the same series.
        """
        if end_ms <= self._decided_ms.get(name, math.inf):
            return  # An earlier version of the collection had a series of a name that is unknown.
        self._decided_ms[name] = end_ms
        starts = self._starts[name]
        ended = bisect_right(starts, end_ms - self._window.size_ms)
        for start in starts[:ended]:
            del self._filled[name][start]
        del starts[:ended]

    def first(self) -> tuple[int, Series] | None:
        """Return the window, by its start, and series that have to be answered first; None if all is decided."""
        firsts = [(start, each) for each in self._series if (start := self.first_of(each)) is not None]
        return min(firsts, key=lambda entry: entry[0], default=None)

    def first_of(self, series: Series) -> int | None:
        """Return the start of the first window of a series; None if all is decided."""
        starts = self._starts[series.name]
        return starts[0] if starts else None

    def decided_ms(self, series: Series) -> int | None:
        """Return the end of the newest decided window of a series; None if none is decided."""
        end_ms = self._decided_ms[series.name]
        return None if end_ms == -math.inf else int(end_ms)

    def all(self) -> list[tuple[int, Series]]:
        """List the windows, by their start, and series in the order in which they have to be answered."""
        entries = [(start, each) for each in self._series for start in self._starts[each.name]]
        return sorted(entries, key=lambda entry: entry[0])

    def holds(self, start: int, series: Series) -> bool:
        """Decide whether a window of a series is undecided."""
        return start in self._filled[series.name]

    def is_decided(self, pane: int, series: Series) -> bool:
        """Decide whether all windows of a pane are decided."""
        return not self._windows_with(pane, series)

    def _windows_with(self, pane: int, series: Series) -> list[int]:
        """List the starts of the windows of a series that a pane is part of and that are not decided."""
        decided_ms = self._decided_ms[series.name]
        return [start for start in windows_of(pane, self._window) if decided_ms < start + self._window.size_ms]
