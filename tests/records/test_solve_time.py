"""Tests of the time that solves are said to take; no clock is read: a solve costs what it counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records import solve_time
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.solve import solve
from stream_ldp.records.solve_time import is_large, sample, solve_times

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.pipeline.statistics import Statistic
    from stream_ldp.records.answer import Estimate
    from stream_ldp.records.series import EstimateSpec

#: Seconds of one evaluation for one row, and of all else.
UNIT_S, FIXED_S = 1e-6, 0.01

COLLECTION = """
collection: towns
mechanism: {{kind: {mechanism}}}
attributes:
  - {{name: a, values: {a}}}
  - {{name: b, values: {b}}}
window: {{size: 60s{window}}}
estimates: [{{name: both, of: [a, b], method: em}}]
"""


def collection_of(*, sizes: tuple[int, int], mechanism: str = "rr-ldp, f: 0.25", window: str = "") -> JointCollection:
    a, b = ([str(value) for value in range(size)] for size in sizes)
    return JointCollection.parse(COLLECTION.format(mechanism=mechanism, a=a, b=b, window=window))


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Estimate]]:
    """List the number of distinct rows and the answer of each solve."""
    done: list[tuple[int, Estimate]] = []

    def noted(collection: JointCollection, task: WindowTask[EstimateSpec, Estimate]) -> Estimate:
        answer = solve(collection, task)
        ((_, (counts,)),) = task.windows
        done.append((rows_of(counts), answer))
        return answer

    monkeypatch.setattr(solve_time, "solve", noted)
    return done


def rows_of(counts: Statistic) -> int:
    assert isinstance(counts, RowCounts)
    return len(counts.rows)


def timer_of(solved: list[tuple[int, Estimate]]) -> Callable[[Callable[[], object]], float]:
    def timer(work: Callable[[], object]) -> float:
        work()
        rows, answer = solved[-1]
        return cost(rows, answer)

    return timer


def cost(rows: int, answer: Estimate) -> float:
    """Return the seconds of a solve, in the estimator's terms: its evaluations of the EM map, over distinct rows."""
    return FIXED_S + UNIT_S * rows * answer.fit.iterations


@pytest.mark.parametrize(
    ("sizes", "mechanism", "reports"),
    [
        ((20, 20), "rr-ldp, f: 0.25", 20_000),  # every report has a row of its own
        pytest.param((6, 6), "rr-ldp, f: 0.25", 1_000_000, marks=pytest.mark.long),  # there are 4,096 rows
        ((20, 20), "k-rr, epsilon: 3", 100_000),  # there are 400
    ],
)
def test_the_time_is_within_a_factor_of_two_of_the_cost_of_a_solve(
    sizes: tuple[int, int], mechanism: str, reports: int, solved: list[tuple[int, Estimate]]
) -> None:
    collection = collection_of(sizes=sizes, mechanism=mechanism)
    (time,) = solve_times(collection, populations=[reports], timer=timer_of(solved))
    (counts,), (later,) = (sample(collection, collection.estimates[0], reports, seed=seed) for seed in (11, 12))
    before = None
    for predicted_s, each in ((time.first_s, counts), (time.later_s, later)):
        task: WindowTask[EstimateSpec, Estimate] = WindowTask(
            series=collection.estimates[0], window_ms=0, final=True, windows=((1.0, (each,)),), before=before
        )
        before = solve(collection, task)
        assert 0.5 < predicted_s / cost(rows_of(each), before) < 2.0


def test_the_rows_of_remembered_windows_are_solved_again_in_each_window(solved: list[tuple[int, Estimate]]) -> None:
    """With memory 0.5, seven windows are remembered."""

    unit_s = 100 * UNIT_S  # Samples of as many reports would take too long.

    def timer(work: Callable[[], object]) -> float:
        work()
        return unit_s * solved[-1][0]

    once, again = (
        next(iter(solve_times(collection_of(sizes=(20, 20), window=window), populations=[10**6], timer=timer)))
        for window in ("", ", memory: 0.5")
    )
    assert once.later_s == pytest.approx(unit_s * 10**6, rel=0.01)
    assert again.later_s == pytest.approx(7 * once.later_s, rel=0.01)


def test_the_samples_of_a_wide_estimate_are_small_enough_to_be_solved_in_seconds() -> None:
    sizes: list[int] = []
    wide = collection_of(sizes=(150, 160))
    patched = pytest.MonkeyPatch()

    def timer(work: Callable[[], object]) -> float:
        work()
        return 1.0

    drawn = solve_time.drawn

    def noted(collection: JointCollection, reports: int, *, seed: int) -> Any:
        sizes.append(reports)
        return drawn(collection, 10, seed=seed)

    with patched.context() as context:
        context.setattr(solve_time, "drawn", noted)
        list(solve_times(wide, populations=[10**6], timer=timer))
    assert max(sizes) * math.prod((150, 160)) <= 10**8


def test_what_is_solved_quickly_is_measured_at_the_size_that_is_asked_about() -> None:
    sizes: list[int] = []
    collection = collection_of(sizes=(2, 2))

    def timer(work: Callable[[], object]) -> float:
        work()
        return 0.001 * len(sizes)

    drawn = solve_time.drawn

    def noted(collection: JointCollection, reports: int, *, seed: int) -> Any:
        sizes.append(reports)
        return drawn(collection, 10, seed=seed)

    with pytest.MonkeyPatch.context() as context:
        context.setattr(solve_time, "drawn", noted)
        (time,) = solve_times(collection, populations=[300_000], timer=timer)
    assert sizes[::2] == [2_500, 10_000, 100_000, 300_000]
    assert (time.first_s, time.later_s) == (0.008, 0.008)


def test_the_solves_of_many_small_estimates_are_measured_like_those_of_a_large_one() -> None:
    head = "collection: c, window: {size: 60s}, mechanism: {kind: k-rr, epsilon: 1}"
    values = ", ".join(f"v{number}" for number in range(12))
    attributes = ", ".join(f"{{name: a{place}, values: [{values}]}}" for place in range(9))

    def of(count: int) -> JointCollection:
        estimates = ", ".join(f"{{name: e{place}, of: [a0, a{place}]}}" for place in range(1, count + 1))
        return JointCollection.parse(f"{{{head}, attributes: [{attributes}], estimates: [{estimates}]}}")

    assert not is_large(of(6))
    assert is_large(of(7))
