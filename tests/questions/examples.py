"""Answers of collections whose users answer one question each, from what was counted in their windows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.window_task import WindowTask


def sums_of(collection: Any, rows: NDArray[np.uint8]) -> ReportSums:
    return ReportSums.of(reports=len(rows), values=collection.questions.sums(rows))


def solved(
    collection: Any,
    *windows: tuple[float, Any | Sequence[Any]],
    final: bool = True,
    window_ms: int = 20_000,
    before: Any = None,
) -> Any:
    """Answer the first series of a collection.

    windows: the weight of each, and what was counted in it, or in each of its parts.
    """
    counted = tuple((weight, tuple(each) if isinstance(each, list) else (each,)) for weight, each in windows)
    task: WindowTask[Any, Any] = WindowTask(
        series=collection.series[0], window_ms=window_ms, final=final, windows=counted, before=before
    )
    return kind_of(collection).solve(collection, task)
