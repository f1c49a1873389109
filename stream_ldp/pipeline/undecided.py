"""Undecided windows: those that hold reports and have no final answer yet."""

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

    They are ordered by their start, then by their series. The cost of an update does not depend on the number of
    windows: after an outage, thousands of them are decided one by one.
    """

    def __init__(self, series: Iterable[Series], window: Window) -> None:
        """Begin without undecided windows.

        series: all series, in the order in which one window is solved for them.
        """
        self._rank = {each.name: rank for rank, each in enumerate(series)}
        self._window = window
        self._filled_panes: set[tuple[str, int]] = set()
        # By series and undecided window: the number of the window's panes that hold reports.
        self._filled: dict[str, Counter[int]] = {name: Counter() for name in self._rank}
        # By series: the end of the window of its newest final answer.
        self._decided_ms: dict[str, float] = dict.fromkeys(self._rank, -math.inf)
        self._windows: list[tuple[int, Series]] = []

    def fill(self, pane: int, series: Series) -> None:
        """Note that a pane holds reports of a series, if that is not known yet."""
        if (series.name, pane) in self._filled_panes:
            return
        self._filled_panes.add((series.name, pane))
        filled = self._filled[series.name]
        for start in self._undecided(pane, series):
            filled[start] += 1
            if filled[start] == 1:
                insort(self._windows, (start, series), key=self._place)

    def empty(self, pane: int, series: Series) -> None:
        """Note that a pane holds no reports of a series, whether or not it held any before."""
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
        """Note that all windows of a series that end at `end_ms` or before are decided.

        end_ms: never less than before for the same series.
        """
        if name not in self._rank:
            return  # An earlier version of the collection had a series of this name.
        self._decided_ms[name] = end_ms
        ended = bisect_right(self._windows, end_ms - self._window.size_ms, key=lambda entry: entry[0])
        for start, series in self._windows[:ended]:
            if series.name == name:
                del self._filled[name][start]
        self._windows[:ended] = [entry for entry in self._windows[:ended] if entry[1].name != name]

    def closed(self, watermark_ms: int) -> list[tuple[int, Series]]:
        """List the windows, by their start, and series that a watermark closes."""
        return self._windows[: self._number_closed(watermark_ms)]

    def open(self, watermark_ms: int | None) -> list[tuple[int, Series]]:
        """List the windows, by their start, and series that a watermark does not close; without one, list all."""
        return self._windows[0 if watermark_ms is None else self._number_closed(watermark_ms) :]

    def _number_closed(self, watermark_ms: int) -> int:
        def closes(entry: tuple[int, Series]) -> int:
            return closes_at(panes_of(entry[0], self._window)[-1], self._window)

        return bisect_right(self._windows, watermark_ms, key=closes)

    def _undecided(self, pane: int, series: Series) -> list[int]:
        """List the starts of the undecided windows that a pane is part of."""
        decided_ms = self._decided_ms[series.name]
        return [start for start in windows_of(pane, self._window) if decided_ms < start + self._window.size_ms]

    def _place(self, entry: tuple[int, Series]) -> tuple[int, int]:
        start, series = entry
        return start, self._rank[series.name]
