"""The sums of the windows that a question is about, with the weight of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.pipeline.statistics import ReportSums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.pipeline.question import Question


def weighted_sums(question: Question[Any, Any], *, counters: int) -> list[tuple[float, NDArray[np.int64]]]:
    """Add up the parts of each window of a question whose statistic is sums, the window that is asked about first.

    counters: number of sums; those of a window without reports are 0.

    Returns:
        The weight of each window, and its sums, int64, shape (counters,).

    Raises:
        TypeError: a part of the question holds no sums.
    """
    return [
        (weight, ReportSums.sum(parts, counters=counters).values) for weight, parts in question.counts(ReportSums)
    ]
