"""Which windows are still to be answered: those that hold reports and have no final answer."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from typing import TYPE_CHECKING

from stream_ldp.pipeline.windows import closes_at, panes_of, windows_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.collection import Series, Window

__all__ = ["UndecidedWindows"]


class UndecidedWindows:
    """The undecided windows of some series, kept in the order in which they have to be answered.

    That is by their start; of those that begin together, in the order of their series. A change costs what it
    changes: after an outage, thousands of windows are answered one by one.
    """

    def __init__(self, series: Iterable[Series], window: Window) -> None:
        """`series`: in the order in which the answers to one window are given."""
        self._rank = {each.name: rank for rank, each in enumerate(series)}
        self._window = window
        self._filled_panes: set[tuple[str, int]] = set()
        # Of each series and undecided window, the number of its panes that hold reports.
        self._filled: dict[str, Counter[int]] = {name: Counter() for name in self._rank}
        # Of each series, the end of its newest final answer.
        self._decided_ms: dict[str, float] = dict.fromkeys(self._rank, -math.inf)
        self._windows: list[tuple[int, Series]] = []

    def fill(self, pane: int, series: Series) -> None:
        """Note that a pane holds reports of a series; it may have been known."""
        if (series.name, pane) in self._filled_panes:
            return
        self._filled_panes.add((series.name, pane))
        filled = self._filled[series.name]
        for start in self._undecided(pane, series):
            filled[start] += 1
            if filled[start] == 1:
                insort(self._windows, (start, series), key=self._place)

    def empty(self, pane: int, series: Series) -> None:
        """Note that a pane holds no reports of a series; it may never have held any."""
        if (series.name, pane) not in self._filled_panes:
            return
        self._filled_panes.remove((series.name, pane))
        filled = self._filled[series.name]
        for start in self._undecided(pane, series):
            filled[start] -= 1
            if not filled[start]:
                del filled[start]
                del self._windows[bisect_left(self._windows, self._place((start, series)), key=self._place)]

    def decide(self, name: str, end_ms: int) -> None:
        """Note that the windows of a series that end by `end_ms`, which never goes back, are decided."""
        if name not in self._rank:
            return  # The collection has had a series of this name before.
        self._decided_ms[name] = end_ms
        ended = bisect_right(self._windows, end_ms - self._window.size_ms, key=lambda entry: entry[0])
        for start, series in self._windows[:ended]:
            if series.name == name:
                del self._filled[name][start]
        self._windows[:ended] = [entry for entry in self._windows[:ended] if entry[1].name != name]

    def closed(self, watermark_ms: int) -> list[tuple[int, Series]]:
        """Starts and series of the windows that a watermark closes."""
        return self._windows[: self._number_closed(watermark_ms)]

    def open(self, watermark_ms: int | None) -> list[tuple[int, Series]]:
        """Starts and series of the windows that it does not close; of all where there is none yet."""
        return self._windows[0 if watermark_ms is None else self._number_closed(watermark_ms) :]

    def _number_closed(self, watermark_ms: int) -> int:
        def closes(entry: tuple[int, Series]) -> int:
            return closes_at(panes_of(entry[0], self._window)[-1], self._window)

        return bisect_right(self._windows, watermark_ms, key=closes)

    def _undecided(self, pane: int, series: Series) -> list[int]:
        """Starts of the undecided windows that a pane is part of."""
        decided_ms = self._decided_ms[series.name]
        return [start for start in windows_of(pane, self._window) if decided_ms < start + self._window.size_ms]

    def _place(self, entry: tuple[int, Series]) -> tuple[int, int]:
        start, series = entry
        return start, self._rank[series.name]
