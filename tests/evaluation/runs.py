"""Evaluations of collections, as the command runs them."""

import itertools
from typing import Any

from stream_ldp.collection import Collection
from stream_ldp.evaluation.experiment import Experiment, Score, scores
from stream_ldp.evaluation.trial import Measure
from stream_ldp.kinds import kind_of


def experiment(
    collection: Collection,
    population: Any,
    *,
    users: int | None = None,
    measure: Measure | None = None,
    apart: float = 0.0,
) -> Experiment:
    """Let users of a population report to a collection; every look at the clock takes a second."""
    evaluation = kind_of(collection).evaluation
    ticks = itertools.count()
    return Experiment(
        collection=collection,
        population=population,
        users=users or len(population),
        measure=measure or evaluation.measure,
        clock=lambda: float(next(ticks)),
        taken=evaluation.taken,
        apart=apart,
    )


def evaluated(
    collection: Collection, population: Any, *, repeats: int = 1, seed: int = 0, **options: Any
) -> dict[str, Score]:
    """Score the series of a collection."""
    return scores(experiment(collection, population, **options).repeats(repeats, seed=seed))


def numbers(score: Score) -> dict[str, float]:
    """Return the metrics of a score that are no words."""
    return {name: value for name, value in score.metrics.items() if not isinstance(value, str)}
