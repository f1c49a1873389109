"""The sums of the windows that a task is about, with the weight of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.pipeline.statistics import ReportSums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.pipeline.window_task import WindowTask


def weighted_sums(task: WindowTask[Any, Any], *, counters: int) -> list[tuple[float, NDArray[np.int64]]]:
    """Add up the parts of each window of a task whose statistic is sums, the window that is asked about first.

    counters: number of sums; those of a window without reports are 0.

    Returns:
        The weight of each window, and its sums, int64, shape (counters,).

    Raises:
        TypeError: a part of the task holds no sums.
    """
    return [(weight, ReportSums.sum(parts, counters=counters).values) for weight, parts in task.counts(ReportSums)]
