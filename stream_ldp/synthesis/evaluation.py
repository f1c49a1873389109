"""Evaluation of synthetic records: their distributions, and what classifiers learn of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.evaluation.distance import average_variation_distance, joint_of
from stream_ldp.evaluation.trial import Measured, Trial
from stream_ldp.records.series import EstimateSpec
from stream_ldp.synthesis.publication import synthetic


def measure(
    trial: Trial[Any],
    *,
    label: str,
    sets: Mapping[int, Sequence[tuple[int, ...]]],
    asked: Callable[[Trial[Any]], Callable[[Any], Any]],
) -> Iterator[Measured]:
    """Measure as many synthetic records of a collection as it has users, and what they are compared with.

    That are as many records of other users (`real`), and those of the users, all with their most frequent label
    (`majority`). avd2, avd3 ... are the average variation distances of sets of as many attributes to those of the
    users. accuracy is that of a classifier which has learnt from the records, over the records kept apart. auc is the
    area under its receiver operating characteristic, left out if there are more labels than two. accuracy_real is the
    accuracy of a classifier that has learnt from the users' own records.

    label: the attribute that classifiers predict from the others.
    sets: by their number of attributes, the ascending positions of what is compared.
    asked: see `Evaluation`.
    """
    collection, sizes = trial.collection, trial.collection.record_sizes
    spec = collection.synthesis.model_copy(update={"records": len(trial.people)})
    people, test, others = (_records(collection, each) for each in (trial.people, trial.apart, trial.population))
    place = [attribute.name for attribute in collection.attributes].index(label)
    accuracy_real, _ = _predicted(people, test, sizes, label=place)

    def measured(series: str, structure: str, records: NDArray[np.int64], seconds: float) -> Measured:
        metrics: dict[str, float | str] = {"structure": structure}
        for ways, wanted in sets.items():
            metrics[f"avd{ways}"] = float(np.mean([_distance(records, people, sizes, of) for of in wanted]))
        metrics["accuracy"], auc = _predicted(records, test, sizes, label=place)
        if auc is not None:
            metrics["auc"] = auc
        return Measured(series, metrics | {"accuracy_real": accuracy_real}, seconds)

    begun = trial.clock()
    task = asked(trial)(collection.whole)
    found = synthetic(collection, task, spec=spec, earlier={}, seed=trial.drawing)
    yield measured("synthetic", found.structure, found.records, trial.clock() - begun)
    drawn = others[np.random.default_rng(trial.drawing).choice(len(others), len(people))]
    yield measured("real", "real", drawn, 0.0)
    values, counts = np.unique(people[:, place], return_counts=True)
    majority = people.copy()
    majority[:, place] = values[np.argmax(counts)]
    yield measured("majority", "majority", majority, 0.0)


def _records(collection: Any, table: Any) -> NDArray[np.int64]:
    """Return users as value indices, shape (n, attributes)."""
    every = EstimateSpec(name="records", of=tuple(attribute.name for attribute in collection.attributes))
    return np.stack(collection.columns_of(table, every), axis=1)


def _distance(
    records: NDArray[np.int64], people: NDArray[np.int64], sizes: Sequence[int], of: tuple[int, ...]
) -> float:
    shape = tuple(sizes[place] for place in of)
    return average_variation_distance(joint_of(records[:, of], shape), joint_of(people[:, of], shape))


def _predicted(
    train: NDArray[np.int64], test: NDArray[np.int64], sizes: Sequence[int], *, label: int
) -> tuple[float, float | None]:
    """Train a logistic regression on records, and return its accuracy on others, and its AUC for a binary label."""
    # Not imported above: only this evaluation needs what takes half a second.
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import OneHotEncoder  # noqa: PLC0415

    features = [place for place in range(len(sizes)) if place != label]
    learnt, wanted = train[:, label], test[:, label]
    only = np.unique(learnt)
    if len(only) == 1:
        return float(np.mean(wanted == only[0])), 0.5 if sizes[label] == 2 else None
    encoder = OneHotEncoder(categories=[np.arange(sizes[place]) for place in features])
    model = make_pipeline(encoder, LogisticRegression(max_iter=300)).fit(train[:, features], learnt)
    accuracy = float(model.score(test[:, features], wanted))
    if sizes[label] > 2 or len(np.unique(wanted)) < 2:
        return accuracy, None
    return accuracy, float(roc_auc_score(wanted, model.predict_proba(test[:, features])[:, 1]))
