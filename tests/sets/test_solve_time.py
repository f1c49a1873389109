"""Tests of the time to solve the phases of an epoch."""

from __future__ import annotations

from collections.abc import Callable

from stream_ldp.sets.solve_time import solve_times
from tests.client.rankings import films


def test_every_phase_is_measured_once_whatever_the_number_of_reports() -> None:
    measured: list[float] = []

    def timer(work: Callable[[], object]) -> float:
        assert work() is not None
        measured.append(float(len(measured) + 1))
        return measured[-1]

    times = list(solve_times(films(), populations=[10, 1_000], timer=timer))
    assert measured == [1.0, 2.0]
    assert [(each.series, each.reports, each.later_s) for each in times] == [
        ("phase-1", 10, 1.0),
        ("phase-1", 1_000, 1.0),
        ("phase-2", 10, 2.0),
        ("phase-2", 1_000, 2.0),
    ]
