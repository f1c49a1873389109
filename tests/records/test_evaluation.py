"""An evaluation's distance is that of the estimate to the users drawn, and of nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import RRLDP, Support
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records import solve
from stream_ldp.records.estimators import (
    Estimator,
    FloatArray,
    Independence,
    Likelihood,
    Method,
    Past,
    Recurrence,
    Solution,
    Start,
    Stop,
)
from stream_ldp.records.evaluation import Trial, average_variation_distance, coverage, scores, trials

#: Inverts one bit in 4 billion: reports are their records.
NOISELESS = 5e-10

#: Two attributes, (0, 0) five times of ten, (0, 1) twice, (1, 2) three times.
PEOPLE = np.array([[0, 0]] * 5 + [[0, 1]] * 2 + [[1, 2]] * 3)


@dataclass
class Fixed:
    """An estimator that returns a given joint, and keeps its arguments."""

    joint: FloatArray
    method: Method = Method.EM
    error: float = 0.0
    seen: list[RowCounts] = field(default_factory=list)

    def estimate(
        self,
        counts: RowCounts,
        *,
        sizes: tuple[int, ...],
        supports: Sequence[Support],
        start: FloatArray | None = None,
        past: Past | None = None,
        recurrence: Recurrence | None = None,
        odds: FloatArray | None = None,
        factor: Sequence[FloatArray] | None = None,
    ) -> Solution:
        self.seen.append(counts)
        return Solution(
            joint=self.joint,
            standard_error=np.full(sizes, self.error),
            method=self.method,
            stop=Stop.PAPER,
            iterations=1,
            certificate=0.0,
            tolerance=0.0,
            certified=True,
            start=Start.UNIFORM,
            log_likelihood=0.0,
            prior_users=0.0,
            prior_centre=None,
            independence=Independence(
                marginals=(),
                log_likelihood=0.0,
                statistic=0.0,
                degrees_of_freedom=1,
                p_value=1.0,
                dependent=False,
            ),
        )


def _trials(
    estimators: Sequence[Estimator],
    population: NDArray[np.int64] = PEOPLE,
    *,
    f: float = NOISELESS,
    users: int = 10,
    repeats: int = 1,
    clock: Callable[[], float] = lambda: 0.0,
) -> list[Trial]:
    return list(
        trials(
            population,
            mechanism=RRLDP(sizes=(2, 3), f=f),
            users=users,
            repeats=repeats,
            seed=0,
            estimators=estimators,
            clock=clock,
        )
    )


def _decoded(counts: RowCounts) -> list[tuple[int, int, int]]:
    """(first value, second value, count) of noiseless reports."""
    bits = counts.unpacked()
    columns = (bits[:, :2].argmax(axis=1), bits[:, 2:].argmax(axis=1), counts.counts)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def test_the_distance_is_half_the_sum_of_absolute_cell_differences() -> None:
    # |0.5-0.4| + |0.2-0.2| + |0-0.1| + |0-0.1| + |0-0.2| + |0.3-0| = 0.8
    joint = np.array([[0.4, 0.2, 0.1], [0.1, 0.2, 0.0]])
    assert [each.avd for each in _trials([Fixed(joint)])] == [pytest.approx(0.4)]
    assert average_variation_distance(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1.0


def test_each_user_reports_their_own_record_once_per_repeat() -> None:
    fake = Fixed(np.full((2, 3), 1 / 6))
    _trials([fake])
    assert _decoded(fake.seen[0]) == [(0, 0, 5), (0, 1, 2), (1, 2, 3)]


def test_the_truth_is_that_of_the_users_drawn_not_of_the_table() -> None:
    fake = Fixed(np.full((2, 3), 1 / 6))
    for each, counts in zip(_trials([fake], users=4, repeats=8), fake.seen, strict=True):
        truth = np.zeros((2, 3))
        for a, b, count in _decoded(counts):
            truth[a, b] = count / 4
        assert each.avd == pytest.approx(0.5 * np.abs(truth - 1 / 6).sum())


def test_nobody_is_drawn_twice_unless_there_are_more_users_than_records() -> None:
    distinct = np.array([[a, b] for a in range(2) for b in range(3)])
    fake = Fixed(np.full((2, 3), 1 / 6))
    _trials([fake], distinct, users=6, repeats=5)
    assert all(counts.counts.tolist() == [1] * 6 for counts in fake.seen)
    more = Fixed(fake.joint)
    _trials([more], distinct, users=600)
    assert more.seen[0].reports == 600
    assert len(set(more.seen[0].counts.tolist())) > 1, "each record exactly 100 times: not drawn but repeated"


def test_every_method_gets_the_same_reports_and_every_repeat_new_ones() -> None:
    one, other = Fixed(np.full((2, 3), 1 / 6)), Fixed(np.full((2, 3), 1 / 6), method=Method.LASSO)
    _trials([one, other], f=0.5, repeats=3)
    assert one.seen == other.seen
    assert one.seen[0] != one.seen[1] != one.seen[2] != one.seen[0]


def test_coverage_is_the_share_of_large_cells_within_their_interval() -> None:
    """Truth .5, .2 and .3 in three cells, of which one estimate is .05 off; an empty cell, .1 off, is not counted."""
    joint = np.array([[0.5, 0.25, 0.1], [0.0, 0.0, 0.3]])
    narrow, wide = _trials([Fixed(joint, error=0.02), Fixed(joint, error=0.026)])
    assert narrow.coverage == pytest.approx(2 / 3)
    assert wide.coverage == 1.0


def test_coverage_is_that_of_the_largest_cells_where_none_has_a_hundredth() -> None:
    truth = np.full((20, 10), 1 / 200)
    solution = Fixed(truth + 0.01, error=0.004).estimate(RowCounts.empty(1), sizes=(20, 10), supports=[])
    assert coverage(solution, truth) == 0.0
    assert coverage(replace(solution, standard_error=np.full((20, 10), 0.006)), truth) == 1.0


def test_seconds_are_those_of_the_estimate_alone() -> None:
    ticks = iter([1.0, 1.5, 7.0, 9.0])
    result = _trials([Fixed(np.full((2, 3), 1 / 6))], repeats=2, clock=lambda: next(ticks))
    assert [each.seconds for each in result] == [0.5, 2.0]


def test_every_estimator_learns_the_hidden_factor_in_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second estimator found that of the first, and its seconds were without it."""
    learnt: list[float] = []

    def learn(likelihood: Likelihood) -> None:
        learnt.append(likelihood.reports)

    monkeypatch.setattr(solve, "hidden_factor", learn)
    joint = Fixed(np.full((2, 3), 1 / 6))
    people = np.column_stack([PEOPLE, PEOPLE[:, 0]])
    mechanism = RRLDP(sizes=(2, 3, 2), f=NOISELESS)
    told = trials(
        people,
        mechanism=mechanism,
        users=10,
        repeats=1,
        seed=0,
        estimators=[joint, joint],
        clock=lambda: 0.0,
        among=1,
    )
    assert len(list(told)) == 2
    assert learnt == [10.0, 10.0]


def _trial(avd: float, *, method: Method = Method.EM, certified: bool = True, iterations: int = 1) -> Trial:
    return Trial(
        method=method,
        stop=Stop.PAPER,
        avd=avd,
        coverage=1 - avd,
        seconds=2 * avd,
        iterations=iterations,
        certified=certified,
    )


def test_a_score_summarises_all_repeats_of_one_method() -> None:
    lasso = _trial(0.5, method=Method.LASSO)
    em = [_trial(0.25), _trial(0.75, certified=False, iterations=4)]
    first, second = scores([lasso, *em])
    assert (second.method, second.stop, second.certified) == (Method.EM, Stop.PAPER, False)
    assert (second.avd, second.coverage, second.seconds, second.iterations) == (0.5, 0.5, 1.0, 2.5)
    assert second.avd_sd == pytest.approx(math.sqrt(0.125))
    assert (first.method, first.avd, first.avd_sd, first.certified) == (Method.LASSO, 0.5, 0.0, True)
