"""Evaluation of estimators on a known population that reports with noise, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.randomness.repeats import each_repeat
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.bit_selection import selected
from stream_ldp.records.solve import factor_of, supported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Mechanism
    from stream_ldp.records.estimators import Estimator, FloatArray, Method, Solution, Stop

__all__ = [
    "Score",
    "Trial",
    "average_variation_distance",
    "coverage",
    "joint_of",
    "scores",
    "trials",
]

#: Smallest cell whose interval is scored, as a share of the users: far below, a cell is a few users.
_COVERED_CELL = 0.01
#: Standard errors to either side of a 95 % interval.
_NOMINAL = 1.96


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One estimate of one repeat.

    avd: average variation distance to the joint of the repeat's own users.
    coverage: that of the estimate's standard errors; see `coverage`.
    seconds: time that the estimate alone took, without drawing, perturbing and counting.
    iterations, certified: as in `Solution`.
    """

    method: Method
    stop: Stop
    avd: float
    coverage: float
    seconds: float
    iterations: int
    certified: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The score of a method over all repeats.

    avd, coverage, seconds, iterations: means.
    avd_sd: standard deviation of the distance over the repeats, with n - 1; 0 for a single one.
    certified: whether every repeat is certified.
    """

    method: Method
    stop: Stop
    avd: float
    avd_sd: float
    coverage: float
    seconds: float
    iterations: float
    certified: bool

    @classmethod
    def of(cls, repeats: Sequence[Trial]) -> Self:
        """Summarise the trials, at least one, of one method."""
        distances = [each.avd for each in repeats]
        return cls(
            method=repeats[0].method,
            stop=repeats[0].stop,
            avd=float(np.mean(distances)),
            avd_sd=float(np.std(distances, ddof=1)) if len(distances) > 1 else 0.0,
            coverage=float(np.mean([each.coverage for each in repeats])),
            seconds=float(np.mean([each.seconds for each in repeats])),
            iterations=float(np.mean([each.iterations for each in repeats])),
            certified=all(each.certified for each in repeats),
        )


def trials(
    population: NDArray[np.int64],
    *,
    mechanism: Mechanism,
    users: int,
    repeats: int,
    seed: int,
    estimators: Sequence[Estimator],
    clock: Callable[[], float],
    among: int = 0,
) -> Iterator[Trial]:
    """Run every estimator on every repeat.

    Each repeat draws users and noise of its own, the same for all estimators; the seed determines both.

    population: value indices, shape (rows, attributes), each below its attribute's size.
    mechanism: the mechanism of exactly these attributes.
    among: number of the last of them whose joint is not estimated, and which only tell of a hidden factor.
    users: number of users in a repeat, each with one report, drawn with replacement only if there are fewer rows.
    clock: returns seconds, from any origin.
    """
    own = range(len(mechanism.sizes) - among)
    sizes = mechanism.sizes[: len(own)]
    for drawn, noise in each_repeat(repeats, rows=len(population), users=users, seed=seed):
        people = population[drawn]
        reports = RowCounts.of(mechanism.perturb(people, entropy=SeededEntropy(noise)), bits=mechanism.bits)
        counts = supported(selected(reports, mechanism.columns(own)), mechanism, own)
        truth = joint_of(people[:, : len(own)], sizes)
        for each in estimators:
            begun = clock()
            factor = factor_of(reports, mechanism, range(len(mechanism.sizes))) if among else None
            solution = each.estimate(
                counts, sizes=sizes, supports=mechanism.supports[: len(own)], factor=factor and factor[: len(own)]
            )
            seconds = clock() - begun
            yield Trial(
                method=solution.method,
                stop=solution.stop,
                avd=average_variation_distance(solution.joint, truth),
                coverage=coverage(solution, truth),
                seconds=seconds,
                iterations=solution.iterations,
                certified=solution.certified,
            )


def scores(outcomes: Iterable[Trial]) -> list[Score]:
    """Make one score for each method, in the order in which the methods first appear."""
    by_method: dict[Method, list[Trial]] = {}
    for each in outcomes:
        by_method.setdefault(each.method, []).append(each)
    return [Score.of(repeats) for repeats in by_method.values()]


def average_variation_distance(first: FloatArray, second: FloatArray) -> float:
    """Compute half the sum of |P - Q| over the cells, in [0, 1] (Chu, Long and Liu, 2022, eq. 12)."""
    return 0.5 * float(np.abs(first - second).sum())


def coverage(solution: Solution, truth: FloatArray) -> float:
    """Compute the share of the cells that are within their 95 % interval, in [0, 1].

    Cells are those with 1 % of the users or more; if none has as many, the largest ones.
    """
    large = truth >= min(_COVERED_CELL, truth.max())
    return float((np.abs(solution.joint - truth) <= _NOMINAL * solution.standard_error)[large].mean())


def joint_of(people: NDArray[np.integer], sizes: tuple[int, ...]) -> FloatArray:
    """Compute the joint distribution of records, shape `sizes`.

    people: valid value indices, shape (n, attributes).
    """
    cells = np.ravel_multi_index(tuple(people.T), sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes) / len(people)
