"""Tests of the differences between two windows, with estimates of records and frequencies."""

from __future__ import annotations

import math

import pytest

from stream_ldp.client.table import differences_of
from stream_ldp.errors import ParameterError
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.difference import differences
from stream_ldp.pipeline.selection import EVERYTHING, Selection
from stream_ldp.records.answer import Temporal
from tests.client.examples import MINUTE_MS, estimate_of, of_minute

MOVED = of_minute(3, probability=[[0.1, 0.17, 0.3], [0.0, 0.18, 0.25]])


def test_a_difference_has_both_errors_and_the_chance_of_it_without_any_change() -> None:
    cells = {cell.names: cell for cell in differences(of_minute(1), MOVED, EVERYTHING)}
    moved, same = cells["yes", "some"], cells["no", "none"]
    assert (moved.estimate, moved.standard_error) == pytest.approx((0.03, math.hypot(0.01, 0.01)))
    assert moved.others["p_value"] == pytest.approx(math.erfc(0.03 / math.hypot(0.01, 0.01) / math.sqrt(2)))
    assert (same.estimate, same.others["p_value"]) == pytest.approx((0.0, 1.0))
    low, high = cells["no", "some"].interval() or (0.0, 0.0)
    assert low < -0.03 < high, "a difference may be negative"


def test_differences_of_marginals_have_their_errors_and_bounds_have_none() -> None:
    of_bathing = Selection(of=["bathing"])
    (row, _) = differences_of([of_minute(1), of_minute(2), MOVED], selection=of_bathing).rows
    assert (row["estimate"], row["standard_error"]) == pytest.approx((-0.03, math.hypot(0.01, 0.01)))
    assert row["window_start"].timestamp() - row["since"].timestamp() == 120
    unknown = [of_minute(1, effects=None), of_minute(2, effects=None)]
    with pytest.raises(ParameterError, match="a difference needs two answers with the same numbers"):
        differences_of(unknown, selection=of_bathing)


def test_windows_that_are_not_independent_have_no_difference() -> None:
    learnt = of_minute(3, temporal=Temporal(alone=[1 / 6] * 6, users=900.0, drift=0.0, jumped=False))
    overlapping = estimate_of(window=WindowBounds(start_ms=int(1.5 * MINUTE_MS), end_ms=3 * MINUTE_MS))
    remembered = of_minute(3, effective_reports=30_000.0)
    for after, problem in (
        (learnt, "has learnt from earlier windows"),
        (overlapping, "have reports in common"),
        (remembered, "counts reports of earlier windows"),
    ):
        with pytest.raises(ParameterError, match=problem):
            list(differences(of_minute(1), after, EVERYTHING))
