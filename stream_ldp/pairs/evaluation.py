"""Evaluation of collections of key-value data: the frequencies of keys, and the means of their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.evaluation.trial import Assumed, Evaluation, Measured, Metric, Trial
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pairs.question import NOT_HELD
from stream_ldp.pairs.solve import pairs_of
from stream_ldp.pipeline.cells import LEVEL, Totals, normal_quantile
from stream_ldp.questions.answers import gathered
from stream_ldp.questions.asking import asked_sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.pairs.collection import PairsCollection
    from stream_ldp.questions.questions import Table

#: Users whose reports are made at once.
_USERS_AT_ONCE = 2**14
#: Users whom a plan assumes, the share of their slots that keys fill, and the most of them who hold one key. One user
#: in ten or so then holds more keys than there are slots, as where padding is a 90 % quantile.
_ASSUMED, _FILLED, _MOST_HELD = 100_000, 0.6, 0.8


def _measure(trial: Trial[PairsCollection]) -> Iterator[Measured]:
    """Measure the shares of users who hold the keys, and the means of keys that have one, as shares of their range.

    mae is the mean absolute error, mse the mean squared error, mse_expected what the standard errors give for it, and
    coverage the share of the numbers within 1.96 of these; reported is the share of the keys that have a mean, and
    where none has, there is nothing else to measure.
    """
    collection = trial.collection
    begun = trial.clock()
    sums = asked_sums(collection.questions, trial.people, entropy=SeededEntropy(trial.noise), at_once=_USERS_AT_ONCE)
    (answers,) = gathered(collection.questions, [(1.0, sums)])
    found = pairs_of(answers)
    seconds = trial.clock() - begun
    held = [trial.people[str(place)] for place in range(len(collection.attributes))]
    held = [column[~np.isnan(column)] for column in held]
    frequencies = np.array([len(column) for column in held]) / len(trial.people)
    missed = found.frequency - frequencies
    z = normal_quantile(LEVEL)
    yield Measured(
        "frequency",
        {
            "mae": float(np.abs(missed).mean()),
            "mse": float((missed**2).mean()),
            "mse_expected": float((found.frequency_error**2).mean()),
            "coverage": float((np.abs(missed) <= z * found.frequency_error).mean()),
        },
        seconds,
    )
    bounds = np.array([key.bounds for key in collection.attributes])
    estimated = ~np.isnan(found.mean) & (frequencies > 0)
    means = np.array([column.mean() if len(column) else 0.0 for column in held])
    off = (found.mean - (means - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0]))[estimated]
    metrics = {"reported": float(estimated.mean())}
    if estimated.any():
        metrics |= {
            "mae": float(np.abs(off).mean()),
            "mse": float((off**2).mean()),
            "mse_expected": float((found.mean_error[estimated] ** 2).mean()),
            "coverage": float((np.abs(off) <= z * found.mean_error[estimated]).mean()),
        }
    yield Measured("mean", metrics, seconds)


def _assumed(collection: PairsCollection) -> Assumed:
    """Draw users whose keys fill some of the slots, by Zipf's law up to a most, with numbers spread as a bell."""
    generator, keys = np.random.default_rng(1), collection.attributes
    oftener = 1.0 / (1.0 + np.arange(len(keys)))
    shares = np.minimum(_FILLED * collection.padding * oftener / oftener.sum(), _MOST_HELD)
    population = np.empty(_ASSUMED, dtype=[(str(place), "<f8") for place in range(len(keys))])
    for place, (key, share) in enumerate(zip(keys, shares.tolist(), strict=True)):
        least, largest = key.bounds
        bell = np.clip(generator.normal(0.5, 1 / 6, _ASSUMED), 0.0, 1.0)
        holds = generator.random(_ASSUMED) < share
        population[str(place)] = np.where(holds, least + bell * (largest - least), NOT_HELD)
    return Assumed(collection=collection, like={}, population=population)


EVALUATION = Evaluation(
    measure=_measure,
    predicts={
        "mae": Metric("the absolute error of a share, or of a mean as a share of its range"),
        "mse": Metric("the mean squared error of these", falls=1.0),
    },
    assumed=_assumed,
    assumes="they hold three fifths as many keys as `padding` on average, the shares of keys fall as one over their "
    "rank, as Zipf's law has it, and numbers are spread as a bell",
)


def totals(collection: PairsCollection, table: Table) -> Totals:
    """Count the users who hold each key; see `Kind.totals`. A mean is no sum over users.

    table: users, one a row.
    """
    counts = [float((~np.isnan(table[str(place)])).sum()) for place in range(len(collection.attributes))]
    return {
        ("pairs", ("frequency", (key.name,))): count
        for key, count in zip(collection.attributes, counts, strict=True)
        if count
    }
