"""Evaluation of collections of places: the count of each, with the users' own regions and without."""

from collections.abc import Iterator

import numpy as np

from stream_ldp.evaluation.prediction import assumed_records
from stream_ldp.evaluation.trial import Assumed, Evaluation, Measured, Metric, Trial
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.cells import Totals
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.places.questions import CLASS, PLACE, REGION
from stream_ldp.places.solve import place_counts
from stream_ldp.questions.asking import asked_sums
from stream_ldp.questions.questions import Table

#: Users whom a plan assumes.
_ASSUMED = 30_000
#: Users whose reports are made at once.
_USERS_AT_ONCE = 2**14


def _measure(trial: Trial[PlaceCollection]) -> Iterator[Measured]:
    """Measure the counts of places, as users report them, and as all would without regions at the least epsilon.

    rmse and rmse_projected are the root mean squared errors of the raw and of the projected count of a place.
    rmse_expected follows from the standard errors of the raw one; without weights. avd is the distance of the
    projected counts, as shares of the users.
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
    metrics = {name: float(np.sqrt((each**2).mean())) for name, each in errors.items()}
    metrics["avd"] = float(np.abs(counts.projected - truth).sum()) / (2 * max(len(people), 1))
    return Measured(series, metrics, seconds)


def _assumed(collection: PlaceCollection) -> Assumed:
    """Draw users in places of unequal frequency, each of whom chooses one of the regions around, and any epsilon."""
    rng, regions = np.random.default_rng(1), collection.tree.regions
    places = len(collection.tree.places)
    population = np.empty(_ASSUMED, dtype=[(PLACE, "<i8"), (REGION, "<i8"), (CLASS, "<i8")])
    population[PLACE] = rng.permutation(places)[assumed_records((places,), _ASSUMED, seed=1)[:, 0]]
    # The deepest region around the place that is not below a depth; those around a region come before it.
    depth = rng.integers(1 + max(region.depth for region in regions), size=_ASSUMED)
    population[REGION] = 0
    for number, region in enumerate(regions):
        inside = (population[PLACE] >= region.first) & (population[PLACE] < region.end)
        population[REGION][inside & (depth >= region.depth)] = number
    population[CLASS] = rng.integers(len(collection.mechanism_spec.epsilon), size=_ASSUMED)
    return Assumed(collection=collection, like={}, population=population)


EVALUATION = Evaluation(
    measure=_measure,
    predicts={
        "avd": Metric("the distance of the projected counts as shares, half the sum of their errors"),
        "rmse": Metric("the root mean square of the error of a raw count", falls=-0.5),
        "rmse_projected": Metric("that of a projected one", falls=-0.5),
    },
    assumed=_assumed,
    assumes="few places are frequent, and each region around a place, and each epsilon, is chosen as often as any "
    "other",
)


def totals(collection: PlaceCollection, table: Table) -> Totals:
    """Count the users at each place; see `Kind.totals`.

    table: users, one a row.
    """
    places = collection.tree.places
    counts = np.bincount(table[PLACE], minlength=len(places)).astype(np.float64)
    return {("places", ("", (place,))): count for place, count in zip(places, counts.tolist(), strict=True)}
