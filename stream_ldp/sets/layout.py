"""The layout of the batches that report to one round of a collection of item sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.pipeline.statistics import SumTally, Tally
from stream_ldp.sets.series import round_statistic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.rounds import Round


class PhaseLayout:
    """The layout of the reports to one round; it is the same for the first phase of every epoch."""

    def __init__(self, collection: ItemCollection, round_: Round | None = None) -> None:
        """Make the layout of a round, or that of the first phase if `round_` is None."""
        method, self._schedule = collection.method, collection.schedule
        self._window_ms = None if round_ is None else round_.start_ms
        series = collection.series[0 if round_ is None else round_.phase - 1]
        self._of = series.of if round_ is None else round_statistic(series, round_.fingerprint)
        self.fingerprint = collection.fingerprint if round_ is None else round_.fingerprint
        self.oracle: FrequencyOracle = method.oracle(method.first() if round_ is None else round_.inquiry)
        self.bits = self.oracle.bits

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Decide which rows are reports that the phase's oracle can make."""
        return self.oracle.valid(rows)

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Decide which panes are windows of the round, or of the first phase of some epoch."""
        if self._window_ms is not None:
            return np.equal(panes, self._window_ms)
        starts, which = np.unique(panes, return_inverse=True)
        first = [self._schedule.epoch_at(start, 1) is not None for start in starts.tolist()]
        return np.array(first, dtype=np.bool_)[which]

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """Make the only tally: the sums of the oracle."""
        return {self._of: SumTally(self.oracle)}

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """Count all rows in the only tally."""
        tallies[self._of].update(rows)

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Decide which batches the phase's oracle finds implausible."""
        return self.oracle.implausible(rows, counts)
