"""This module holds the truth of a simulation of records, to compare estimates with."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from stream_ldp.cli.simulation.truth_file import TruthFile
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.windows import pane_of, panes_of, windows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stream_ldp.records.answer import Estimate
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.views.collection import ViewsCollection

__all__ = ["Tally", "Truth", "WindowTruth"]


class WindowTruth(BaseModel):
    """The true joint distribution of the records that were reported in one window."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    window: WindowBounds
    reports: int
    probability: list[Any]


class Truth(TruthFile):
    """The true joint distributions of a simulation, by estimate, as nested lists with one level for each axis.

    population: distribution of the whole table.
    windows: distribution of the reported records, window by window.
    """

    origin: ClassVar[str] = "a simulation"

    population: dict[str, list[Any]]
    windows: dict[str, tuple[WindowTruth, ...]]

    def of(self, estimate: Estimate) -> NDArray[np.float64] | None:
        """Return the joint to compare an estimate with: its window's, or the population's if the window is unknown.

        It is None if the simulation was of another collection, or of another version of it.
        """
        if estimate.fingerprint != self.fingerprint or estimate.estimate not in self.population:
            return None
        known = {each.window: each.probability for each in self.windows[estimate.estimate]}
        joint = np.array(known.get(estimate.window, self.population[estimate.estimate]), dtype=np.float64)
        return joint if joint.shape == estimate.shape else None


class Tally:
    """A tally counts the true records as they are reported."""

    def __init__(self, collection: JointCollection | ViewsCollection, population: NDArray[Any]) -> None:
        """Start with no records.

        population: users, one a row, as the collection's `table` makes them.
        """
        self._collection = collection
        self._population = population
        self._panes: dict[int, dict[str, NDArray[np.int64]]] = defaultdict(dict)

    def add(self, values: NDArray[Any], *, time_ms: int) -> None:
        """Add users, one a row, whose records are reported at one event time."""
        counts = self._panes[pane_of(time_ms, self._collection.window)]
        for estimate in self._collection.estimates:
            counts[estimate.name] = counts.get(estimate.name, 0) + self._counted(values, estimate)

    def truth(self) -> Truth:
        """Compute the truth of the records that have been added so far."""
        return Truth(
            collection=self._collection.name,
            fingerprint=self._collection.fingerprint.hex(),
            population={
                estimate.name: _shares(self._counted(self._population, estimate))
                for estimate in self._collection.estimates
            },
            windows={estimate.name: tuple(self._windows(estimate)) for estimate in self._collection.estimates},
        )

    def _windows(self, estimate: Any) -> Iterator[WindowTruth]:
        window = self._collection.window
        for start in sorted({start for pane in self._panes for start in windows_of(pane, window)}):
            panes = [pane for pane in panes_of(start, window) if pane in self._panes]
            counts = np.sum([self._panes[pane][estimate.name] for pane in panes], axis=0)
            yield WindowTruth(
                window=WindowBounds(start_ms=start, end_ms=start + window.size_ms),
                reports=int(counts.sum()),
                probability=_shares(counts),
            )

    def _counted(self, values: NDArray[Any], estimate: Any) -> NDArray[np.int64]:
        shape = self._collection.sizes_of(estimate)
        cells = np.ravel_multi_index(self._collection.columns_of(values, estimate), shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def _shares(counts: NDArray[np.int64]) -> list[Any]:
    return (counts / counts.sum()).tolist()  # type: ignore[no-any-return]
