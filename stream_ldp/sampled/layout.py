"""The layout of the batches of a sampled collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.pipeline.statistics import SumTally
from stream_ldp.sampled.series import STATISTIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream_ldp.pipeline.statistics import Tally
    from stream_ldp.sampled.questions import HasQuestions

__all__ = ["SampledLayout"]


class SampledLayout:
    """The layout of the answers to all questions, a `stream_ldp.pipeline.layout.Layout`."""

    def __init__(self, collection: HasQuestions) -> None:
        self.fingerprint = collection.fingerprint
        self._questions = collection.questions
        self.bits = self._questions.bits

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Decide which rows are answers to a question."""
        return self._questions.valid(rows)

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Accept every pane: users answer at any time."""
        return np.ones(len(panes), dtype=np.bool_)

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """Make the only tally: the sums of the answers."""
        return {STATISTIC: SumTally(self._questions)}

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """Count all rows in the only tally."""
        tallies[STATISTIC].update(rows)

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:  # noqa: ARG002
        """Find no batch implausible: that of a single user repeats one answer to one question."""
        return np.zeros(len(counts), dtype=np.bool_)
