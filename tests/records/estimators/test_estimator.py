"""These tests show which estimators there are, and which arguments they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.mechanisms import Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import FloatArray, Method, Solution, Stop, estimator


def solve(
    form: tuple[Method, Stop],
    counts: RowCounts,
    sizes: tuple[int, ...],
    channel: Support,
    start: FloatArray | None = None,
) -> Solution:
    method, stop = form
    return estimator(method, stop=stop, delta=0.001).estimate(
        counts, sizes=sizes, supports=[channel] * len(sizes), start=start
    )


@pytest.mark.parametrize(
    ("start", "complaint"),
    [
        (np.full((3, 2), 1 / 6), r"shape \(3, 2\), the joint has \(2, 3\)"),
        (np.zeros((2, 3)), "not 0 everywhere"),
        (np.array([[1.0, np.nan, 0], [0, 0, 0]]), "finite"),
        (np.array([[1.5, -0.5, 0], [0, 0, 0]]), "at least 0"),
    ],
)
def test_a_start_that_is_no_distribution_is_refused(start: FloatArray, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        solve(
            (Method.EM, Stop.CERTIFICATE), RowCounts.empty(5), (2, 3), Support.of_bits(one=0.7, zero=0.2), start=start
        )


@pytest.mark.parametrize(
    ("method", "stop", "delta"), [("ml", "paper", 0.1), ("em", "never", 0.1), ("em", "paper", 0.0)]
)
def test_an_unknown_estimator_or_a_delta_of_zero_is_refused(method: str, stop: str, delta: float) -> None:
    with pytest.raises(ValueError, match=r"ml|never|delta must be positive"):
        estimator(method, stop=stop, delta=delta)
