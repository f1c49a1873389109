"""Evaluation of collections of places: the count of each, with the users' own regions and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.evaluation.trial import Evaluation, Measured
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.places.questions import CLASS, PLACE, REGION
from stream_ldp.places.solve import place_counts
from stream_ldp.questions.asking import asked_sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.evaluation.trial import Trial
    from stream_ldp.questions.questions import Table

#: Users whose reports are made at once.
_USERS_AT_ONCE = 2**14


def _measure(trial: Trial[PlaceCollection]) -> Iterator[Measured]:
    """Measure the counts of places, as users report them, and as all would without regions at the least epsilon.

    rmse and rmse_projected are the root mean squared errors of the raw and of the projected count of a place.
    rmse_expected follows from the standard errors of the raw one; without weights.
    """
    yield _measured("places", trial.collection, trial.people, trial)
    everyone = trial.people.copy()
    everyone[REGION] = everyone[CLASS] = 0
    yield _measured("without regions", _without_regions(trial.collection), everyone, trial)


def _without_regions(collection: PlaceCollection) -> PlaceCollection:
    spec = collection.mechanism_spec
    return PlaceCollection.model_validate(
        {
            "collection": collection.name,
            "mechanism": spec.model_copy(update={"epsilon": spec.epsilon[:1], "weights": "users"}),
            "places": list(collection.tree.places),
            "window": collection.window,
        }
    )


def _measured(series: str, collection: PlaceCollection, people: Table, trial: Trial[PlaceCollection]) -> Measured:
    begun = trial.clock()
    sums = asked_sums(
        collection.questions,
        people,
        entropy=SeededEntropy(trial.noise),
        at_once=_USERS_AT_ONCE,
        chosen=collection.chosen(people),
    )
    counts = place_counts(collection, [(1.0, sums)])
    seconds = trial.clock() - begun
    truth = np.bincount(people[PLACE], minlength=len(collection.tree.places))
    errors = {
        "rmse": counts.raw - truth,
        "rmse_expected": counts.standard_error,
        "rmse_projected": counts.projected - truth,
    }
    return Measured(series, {name: float(np.sqrt((each**2).mean())) for name, each in errors.items()}, seconds)


EVALUATION = Evaluation(
    measure=_measure,
    predicts={
        "rmse": "the root mean square of the error of a raw count",
        "rmse_projected": "that of a projected one",
    },
)
