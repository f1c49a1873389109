"""Evaluation of a collection of places on a known population that answers with noise, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.randomness.repeats import each_repeat
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.places.questions import CLASS, PLACE, REGION
from stream_ldp.places.solve import place_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.questions.questions import Table

__all__ = ["Score", "scores"]

#: Users whose reports are made at once.
_USERS_AT_ONCE = 2**14


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The errors of the count of a place, root mean squares over all places and repeats.

    regions: `chosen` by the users; or `none`, if every user tells the place out of all at the least epsilon.
    weights: how users of different epsilons are put together, see `stream_ldp.places.collection.PlaceSpec`.
    rmse, rmse_projected: of the raw and of the projected counts.
    rmse_expected: of the raw ones, as their standard errors have it; without weights.
    seconds: of a repeat, to perturb, count and estimate.
    """

    regions: str
    weights: str
    rmse: float
    rmse_projected: float
    rmse_expected: float
    seconds: float


def scores(
    collection: PlaceCollection,
    population: Table,
    *,
    users: int,
    repeats: int,
    seed: int,
    clock: Callable[[], float],
) -> list[Score]:
    """Compare the collection, with and without weights, with one that has no regions and one epsilon.

    population: users, one a row, as `PlaceCollection.table` makes them.
    users: number of users in a repeat, drawn with replacement only if there are fewer rows.
    clock: returns seconds, from any origin.
    """
    spec = collection.mechanism_spec
    alike = spec.model_copy(update={"epsilon": spec.epsilon[:1], "weights": "users"})
    everyone = PlaceCollection.model_validate(
        {
            "collection": collection.name,
            "mechanism": alike,
            "places": list(collection.tree.places),
            "window": collection.window,
        }
    )
    variants = [
        (
            "chosen",
            weights,
            collection.model_copy(update={"mechanism_spec": spec.model_copy(update={"weights": weights})}),
        )
        for weights in ("users", "variance")
    ]
    found: dict[tuple[str, str], list[tuple[float, float, float, float]]] = {}
    for drawn, noise in each_repeat(repeats, rows=len(population), users=users, seed=seed):
        people = population[drawn]
        without = people.copy()
        without[REGION] = without[CLASS] = 0
        for regions, weights, variant, table in (
            *((*each, people) for each in variants),
            ("none", "users", everyone, without),
        ):
            found.setdefault((regions, weights), []).append(_errors(variant, table, noise, clock))
    return [
        Score(
            regions=regions,
            weights=weights,
            rmse=rmse,
            rmse_projected=projected,
            rmse_expected=expected,
            seconds=seconds,
        )
        for (regions, weights), errors in found.items()
        for *squares, seconds in [np.mean(errors, axis=0).tolist()]
        for rmse, projected, expected in [np.sqrt(squares).tolist()]
    ]


def _errors(
    collection: PlaceCollection, people: Table, noise: np.random.SeedSequence, clock: Callable[[], float]
) -> tuple[float, float, float, float]:
    """Return the mean squared errors of the counts, raw, projected and expected, and the time it took."""
    entropy, begun, questions = SeededEntropy(noise), clock(), collection.questions
    sums = np.zeros(questions.counters, dtype=np.int64)
    for first in range(0, len(people), _USERS_AT_ONCE):
        part = people[first : first + _USERS_AT_ONCE]
        sums += questions.sums(questions.perturb(collection.chosen(part), part, entropy=entropy))
    counts = place_counts(collection, [(1.0, sums)])
    seconds = clock() - begun
    truth = np.bincount(people[PLACE], minlength=len(collection.tree.places))
    return (
        float(((counts.raw - truth) ** 2).mean()),
        float(((counts.projected - truth) ** 2).mean()),
        float((counts.standard_error**2).mean()),
        seconds,
    )
