"""What the batches of one phase of a collection of item sets hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.pipeline.statistics import SumTally
from stream_ldp.sets.series import asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.pipeline.statistics import Tally
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.rounds import Round

__all__ = ["PhaseLayout"]


class PhaseLayout:
    """The layout of the reports to one round; that of a first phase is the same in every epoch."""

    def __init__(self, collection: ItemCollection, round_: Round | None = None) -> None:
        """`round_`: None for the first phase."""
        method, self._schedule = collection.method, collection.schedule
        self._window_ms = None if round_ is None else round_.start_ms
        series = collection.series[0 if round_ is None else round_.phase - 1]
        self._of = series.of if round_ is None else asked(series, round_.fingerprint)
        self.fingerprint = collection.fingerprint if round_ is None else round_.fingerprint
        self.oracle: FrequencyOracle = method.oracle(method.first() if round_ is None else round_.inquiry)
        self.bits = self.oracle.bits

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which rows are reports that the phase's oracle can send."""
        return self.oracle.valid(rows)

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which panes are in a window of the phase."""
        if self._window_ms is not None:
            return np.equal(panes, self._window_ms)
        starts, which = np.unique(panes, return_inverse=True)
        taken = [self._schedule.epoch_at(start, 1) is not None for start in starts.tolist()]
        return np.array(taken, dtype=np.bool_)[which]

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """The only tally: the sums of the oracle."""
        return {self._of: SumTally(self.oracle)}

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """Count all rows in the only tally."""
        tallies[self._of].update(rows)

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """As the phase's oracle says."""
        return self.oracle.implausible(rows, counts)
