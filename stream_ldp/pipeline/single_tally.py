"""The layout of batches that are all counted in one tally, whenever they come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.pipeline.window_series import STATISTIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream_ldp.pipeline.statistics import Tally
    from stream_ldp.pipeline.wire import RowFormat


class SingleTallyLayout(ABC):
    """The layout of the answers to all questions, a `stream_ldp.pipeline.layout.Layout`."""

    def __init__(self, fingerprint: bytes, questions: RowFormat) -> None:
        self.fingerprint = fingerprint
        self.bits = questions.bits
        self._questions = questions

    @abstractmethod
    def tally(self) -> Tally:
        """Make an empty tally for a pane."""

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Decide which rows are answers to a question."""
        return self._questions.valid(rows)

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Accept every pane: users answer at any time."""
        return np.ones(len(panes), dtype=np.bool_)

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """Make the only tally."""
        return {STATISTIC: self.tally()}

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """Count all rows in the only tally."""
        tallies[STATISTIC].update(rows)

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:  # noqa: ARG002
        """Find no batch implausible: that of a single user repeats one answer to one question."""
        return np.zeros(len(counts), dtype=np.bool_)
