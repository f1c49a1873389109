"""This module holds the truth of a simulation of a collection of strings, to compare rankings with."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from pydantic import BaseModel, ConfigDict

from stream_ldp.cli.simulation.truth_file import TruthFile
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.windows import pane_of, panes_of, windows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.strings.answer import StringRanking
    from stream_ldp.strings.collection import StringCollection

__all__ = ["StringTally", "StringTruth", "TrueStrings", "WindowStrings"]


class TrueStrings(BaseModel):
    """What is true of some users.

    users: how many have each string that anybody has, the most frequent first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    users: dict[str, int]

    @classmethod
    def of(cls, counts: Counter[str]) -> Self:
        """Order strings by their counts, and equally frequent ones by their letters."""
        return cls(users=dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))))

    def share(self, string: str) -> float:
        """Return the share of the users who have a string."""
        total = sum(self.users.values())
        return self.users.get(string, 0) / total if total else 0.0

    def found(self, strings: Sequence[str]) -> int:
        """Count the strings that are among as many truly most frequent ones."""
        top = list(self.users.values())[: len(strings)]
        return sum(self.users.get(each, 0) >= top[-1] for each in strings) if top else 0


class WindowStrings(BaseModel):
    """What is true of the users who reported in one window."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    window: WindowBounds
    reports: int
    strings: TrueStrings


class StringTruth(TruthFile):
    """The true strings of a simulation.

    population: of the whole table.
    windows: of the users who have reported, window by window.
    """

    origin: ClassVar[str] = "a simulation of a collection of strings"

    population: TrueStrings
    windows: tuple[WindowStrings, ...]

    def of(self, ranking: StringRanking) -> TrueStrings | None:
        """Return what to compare a ranking with: the truth of its window, or of the population if it is unknown.

        It is None if the simulation was of another collection, or of another version of it.
        """
        if ranking.fingerprint != self.fingerprint:
            return None
        known = {each.window: each.strings for each in self.windows}
        return known.get(ranking.window, self.population)


class StringTally:
    """A tally counts the strings of the users who have reported."""

    def __init__(self, collection: StringCollection, population: NDArray[np.integer]) -> None:
        """Start with no users.

        population: symbols of the users' strings, shape (n, length).
        """
        self._collection = collection
        self._population = self._counted(population)
        self._panes: dict[int, Counter[str]] = defaultdict(Counter)

    def add(self, values: NDArray[np.integer], *, time_ms: int) -> None:
        """Add users, one a row, who report at one event time."""
        self._panes[pane_of(time_ms, self._collection.window)] += self._counted(values)

    def truth(self) -> StringTruth:
        """Compute the truth of the users that have been added so far."""
        window = self._collection.window
        windows = []
        for start in sorted({start for pane in self._panes for start in windows_of(pane, window)}):
            counts = sum((self._panes[pane] for pane in panes_of(start, window) if pane in self._panes), Counter())
            bounds = WindowBounds(start_ms=start, end_ms=start + window.size_ms)
            windows.append(WindowStrings(window=bounds, reports=counts.total(), strings=TrueStrings.of(counts)))
        return StringTruth(
            collection=self._collection.name,
            fingerprint=self._collection.fingerprint.hex(),
            population=TrueStrings.of(self._population),
            windows=tuple(windows),
        )

    def _counted(self, values: NDArray[np.integer]) -> Counter[str]:
        strings, counts = np.unique(values, axis=0, return_counts=True)
        decode = self._collection.string.decode
        return Counter(dict(zip(map(decode, strings), counts.tolist(), strict=True)))
