"""Evaluation of heavy-hitter methods on a known population: whole epochs, again and again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.randomness.repeats import each_repeat
from stream_ldp.sets.epoch import run_epoch
from stream_ldp.sets.metrics import coverage, f1_score, mean_squared_error, ndcg, relative_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.phases import Method, RankingEstimate

__all__ = ["Measures", "Score", "Trial", "measures", "scores", "trials"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measures:
    """The measures of a ranking, as in `metrics`, and the seconds that its epoch took."""

    ndcg: float
    re: float
    f1: float
    mse: float
    coverage: float
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """The measures of one epoch of one method."""

    method: str
    epsilon: float
    k: int
    measures: Measures


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The score of a method over all repeats.

    mean: mean of each measure.
    deviation: standard deviation of each measure over the repeats, with n - 1; 0 for a single one.
    """

    method: str
    epsilon: float
    k: int
    mean: Measures
    deviation: Measures

    @classmethod
    def of(cls, repeats: Sequence[Trial]) -> Self:
        """Summarise the trials, at least one, of one method."""
        names = [field.name for field in fields(Measures)]
        table = np.array([[getattr(each.measures, name) for name in names] for each in repeats])
        deviations = table.std(axis=0, ddof=1) if len(table) > 1 else np.zeros(len(names))
        return cls(
            method=repeats[0].method,
            epsilon=repeats[0].epsilon,
            k=repeats[0].k,
            mean=Measures(**dict(zip(names, table.mean(axis=0).tolist(), strict=True))),
            deviation=Measures(**dict(zip(names, deviations.tolist(), strict=True))),
        )


def trials(
    population: ItemSets,
    *,
    methods: Sequence[tuple[float, Method]],
    users: int,
    repeats: int,
    seed: int,
    clock: Callable[[], float],
) -> Iterator[Trial]:
    """Run an epoch of each method, again and again.

    Every repeat draws users of its own, the same for all methods, and their noise; the seed determines both.

    population: items below the methods' domain.
    methods: each with the epsilon that it is built for.
    users: number of users in a repeat, drawn with replacement only if there are fewer sets.
    clock: returns seconds, from any origin; a trial's seconds are those of its whole epoch, clients and server.
    """
    for drawn, noise in each_repeat(repeats, rows=len(population), users=users, seed=seed):
        people = population.take(drawn)
        truth = people.frequencies(methods[0][1].domain)
        for epsilon, each in methods:
            begun = clock()
            estimate = run_epoch(each, people, entropy=SeededEntropy(noise))
            seconds = clock() - begun
            yield Trial(
                method=each.name,
                epsilon=epsilon,
                k=each.k,
                measures=measures(estimate, truth, k=each.k, seconds=seconds),
            )


def measures(estimate: RankingEstimate, truth: NDArray[np.float64], *, k: int, seconds: float) -> Measures:
    """Measure a ranking as published: the k best items, and frequencies in [0, 1], 0 for other than candidates.

    truth: true frequency of each item of the domain, shape (d,).
    """
    published = estimate.items[:k]
    frequency = np.zeros(len(truth))
    frequency[estimate.items] = np.clip(estimate.frequency, 0.0, 1.0)
    return Measures(
        ndcg=ndcg(published, truth, k=k),
        re=relative_error(frequency, truth, k=k),
        f1=f1_score(published, truth, k=k),
        mse=mean_squared_error(frequency, truth, k=k),
        coverage=coverage(estimate, truth, k=k),
        seconds=seconds,
    )


def scores(outcomes: Iterable[Trial]) -> list[Score]:
    """Make one score for each method, epsilon and k, in the order in which these first appear."""
    by_setting: dict[tuple[str, float, int], list[Trial]] = {}
    for each in outcomes:
        by_setting.setdefault((each.method, each.epsilon, each.k), []).append(each)
    return [Score.of(repeats) for repeats in by_setting.values()]
