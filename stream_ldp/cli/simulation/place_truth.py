"""This module holds the truth of a simulation of a collection of places, to compare counts with."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from stream_ldp.cli.simulation.truth_file import TruthFile
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.windows import pane_of, panes_of, windows_of
from stream_ldp.places.questions import PLACE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.places.answer import PlaceCounts
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.questions.questions import Table

__all__ = ["PlaceTally", "PlaceTruth", "WindowPlaces"]


class WindowPlaces(BaseModel):
    """What is true of the users who reported in one window.

    counts: of the places, in the order of the file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    window: WindowBounds
    counts: tuple[int, ...]


class PlaceTruth(TruthFile):
    """The true places of a simulation.

    places: their names, in the order of the file.
    population: counts of the whole table.
    windows: of the users who have reported, window by window.
    """

    origin: ClassVar[str] = "a simulation of a collection of places"

    places: tuple[str, ...]
    population: tuple[int, ...]
    windows: tuple[WindowPlaces, ...]

    def of(self, counts: PlaceCounts) -> tuple[float, ...] | None:
        """Return what to compare counts with: the truth of their window.

        Where the window is unknown, it is that of the population, for as many reports. It is None if the simulation
        was of another collection, or of another version of it.
        """
        if counts.fingerprint != self.fingerprint:
            return None
        for each in self.windows:
            if each.window == counts.window:
                return tuple(map(float, each.counts))
        return tuple(each * counts.reports / sum(self.population) for each in self.population)


class PlaceTally:
    """A tally counts the places of the users who have reported."""

    def __init__(self, collection: PlaceCollection, population: Table) -> None:
        """Start with no users.

        population: users, one a row.
        """
        self._collection = collection
        self._population = self._counted(population)
        self._panes: dict[int, NDArray[np.int64]] = defaultdict(lambda: np.zeros_like(self._population))

    def add(self, values: Table, *, time_ms: int) -> None:
        """Add users, one a row, who report at one event time."""
        self._panes[pane_of(time_ms, self._collection.window)] += self._counted(values)

    def truth(self) -> PlaceTruth:
        """Compute the truth of the users that have been added so far."""
        window = self._collection.window
        windows = []
        for start in sorted({start for pane in self._panes for start in windows_of(pane, window)}):
            counts = sum(self._panes[pane] for pane in panes_of(start, window) if pane in self._panes)
            bounds = WindowBounds(start_ms=start, end_ms=start + window.size_ms)
            windows.append(WindowPlaces(window=bounds, counts=tuple(np.asarray(counts).tolist())))
        return PlaceTruth(
            collection=self._collection.name,
            fingerprint=self._collection.fingerprint.hex(),
            places=self._collection.tree.places,
            population=tuple(self._population.tolist()),
            windows=tuple(windows),
        )

    def _counted(self, users: Table) -> NDArray[np.int64]:
        return np.bincount(users[PLACE], minlength=len(self._collection.tree.places))
