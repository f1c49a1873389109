"""This module holds the truth of a simulation of a sampled collection, to compare marginals with."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from stream_ldp.cli.simulation.truth_file import TruthFile
from stream_ldp.marginals.answer import Frequencies
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.windows import pane_of, panes_of, windows_of

if TYPE_CHECKING:
    from stream_ldp.marginals.answer import Marginals
    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.questions.questions import Table

__all__ = ["MarginalTally", "MarginalTruth", "WindowMarginals"]


class WindowMarginals(BaseModel):
    """What is true of the users who reported in one window.

    attributes: by name, the frequencies of the values, or the mean alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    window: WindowBounds
    reports: int
    attributes: dict[str, tuple[float, ...]]


class MarginalTruth(TruthFile):
    """The true marginals of a simulation.

    labels: the values or candidates, by attribute; none of a number.
    population: of the whole table, by attribute as in `WindowMarginals`.
    windows: of the users who have reported, window by window.
    """

    origin: ClassVar[str] = "a simulation of a sampled collection"

    labels: dict[str, tuple[str, ...]]
    population: dict[str, tuple[float, ...]]
    windows: tuple[WindowMarginals, ...]

    def of(self, marginals: Marginals) -> dict[str, tuple[float, ...]] | None:
        """Return what to compare marginals with: the truth of their window, or of the population if it is unknown.

        Frequencies are those of the values that have an estimate. It is None if the simulation was of another
        collection, or of another version of it.
        """
        if marginals.fingerprint != self.fingerprint:
            return None
        known = {each.window: each.attributes for each in self.windows}
        truths = dict(known.get(marginals.window, self.population))
        for each in marginals.attributes:
            if isinstance(each.estimate, Frequencies) and each.estimate.dropped:
                of_label = dict(zip(self.labels[each.attribute], truths[each.attribute], strict=True))
                truths[each.attribute] = tuple(of_label[value] for value in each.estimate.values)
        return truths


class MarginalTally:
    """A tally counts what is true of the users who have reported."""

    def __init__(self, collection: SampledCollection, population: Table) -> None:
        """Start with no users.

        population: users, one a row.
        """
        self._collection = collection
        self._population = population
        self._panes: dict[int, list[Table]] = defaultdict(list)

    def add(self, values: Table, *, time_ms: int) -> None:
        """Add users, one a row, who report at one event time."""
        self._panes[pane_of(time_ms, self._collection.window)].append(values)

    def truth(self) -> MarginalTruth:
        """Compute the truth of the users that have been added so far."""
        window = self._collection.window
        windows = []
        for start in sorted({start for pane in self._panes for start in windows_of(pane, window)}):
            parts = [part for pane in panes_of(start, window) for part in self._panes.get(pane, [])]
            users = np.concatenate(parts)
            bounds = WindowBounds(start_ms=start, end_ms=start + window.size_ms)
            windows.append(WindowMarginals(window=bounds, reports=len(users), attributes=self._marginals(users)))
        return MarginalTruth(
            collection=self._collection.name,
            fingerprint=self._collection.fingerprint.hex(),
            labels={each.name: each.labels for each in self._collection.attributes if each.range is None},
            population=self._marginals(self._population),
            windows=tuple(windows),
        )

    def _marginals(self, users: Table) -> dict[str, tuple[float, ...]]:
        found: dict[str, tuple[float, ...]] = {}
        for place, attribute in enumerate(self._collection.attributes):
            column = users[str(place)]
            if attribute.range is not None:
                found[attribute.name] = (float(column.mean()),)
            elif attribute.candidates is not None:
                found[attribute.name] = tuple(float((column == each).mean()) for each in attribute.candidates)
            else:
                counts = np.bincount(column, minlength=len(attribute.labels))
                found[attribute.name] = tuple((counts / len(users)).tolist())
        return found
