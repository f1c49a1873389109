"""Tests of the sums of the windows of a question."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.weighted_sums import weighted_sums
from stream_ldp.pipeline.window_task import WindowTask
from tests.marginals.examples import collection_of


def test_parts_are_added_up_window_by_window_and_a_window_without_reports_is_0() -> None:
    parts = tuple(ReportSums(reports=2, values=np.array(values)) for values in ([1, 2, 3], [10, 20, 30]))
    (series,) = collection_of().series
    task: WindowTask[Any, Any] = WindowTask(
        series=series, window_ms=0, final=True, windows=((1.0, parts), (0.5, ())), before=None
    )
    (first, current), (second, before) = weighted_sums(task, counters=3)
    assert (first, second) == (1.0, 0.5)
    assert current.tolist() == [11, 22, 33]
    assert before.tolist() == [0, 0, 0]
