"""Example methods and reports for the tests of heavy hitters."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from stream_ldp.collection import Part
from stream_ldp.collection.located import parse_values
from stream_ldp.evaluation.experiment import Experiment
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.evaluation import EVALUATION
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import AnyMethodSpec
from stream_ldp.sets.phases import Inquiry, Method
from stream_ldp.sets.sampling import respond


class _Document(Part):
    """A part of a collection file that holds a method alone."""

    mechanism: AnyMethodSpec = Field(discriminator="kind")


def method(kind: str, *, domain: int, **options: object) -> Method:
    """Make a method by its kind and options; None is an option that is not given."""
    given = {name: value for name, value in options.items() if value is not None}
    return parse_values(_Document, {"mechanism": {"kind": kind, **given}}).mechanism.method(domain=domain)


def build(kind: str, **changes: Any) -> Method:
    """Make a method for the top 4 of 60 items, of which sets hold 5, but for the changes."""
    return method(kind, **{"domain": 60, "k": 4, "epsilon": 2.0, "set_size": 5, **changes})


def scored(sets: ItemSets, *, users: int, repeats: int, **mechanism: object) -> Iterator[dict[str, float]]:
    """Evaluate a method on sets, and yield the metrics of each repeat; seed 0."""
    collection = ItemCollection.model_validate(
        {
            "collection": "sets",
            "mechanism": mechanism,
            "items": {"size": int(sets.items.max()) + 1},
            "window": {"size": "1m"},
        }
    )
    experiment = Experiment(
        collection=collection,
        population=sets,
        users=users,
        measure=EVALUATION.measure,
        clock=lambda: 0.0,
        taken=EVALUATION.taken,
    )
    for (measured,) in experiment.repeats(repeats, seed=0):
        yield {name: float(value) for name, value in measured.metrics.items()}


def answers_of(
    method: Method, inquiry: Inquiry, sets: Iterable[Iterable[int]], *, seed: int = 0
) -> NDArray[np.int64]:
    """Count the reports of users with these sets, who are all asked."""
    rows = respond(method, inquiry, ItemSets.of(sets), entropy=SeededEntropy(seed))
    return method.oracle(inquiry).sums(rows)


def population(users: int, *, seed: int = 0) -> ItemSets:
    """Sets of 0 to 5 of 60 items; item i is held by 0.9 - 0.1 i of the users up to 4, others by one in 500."""
    rng = np.random.default_rng(seed)
    chances = np.array([0.9, 0.7, 0.5, 0.3, 0.1] + [0.0] * 55)
    held = rng.random((users, 60)) < chances
    rare = np.flatnonzero(~held.any(axis=1) & (rng.random(users) < 0.5))
    held[rare, rng.integers(5, 60, size=len(rare))] = True
    return ItemSets.of(np.flatnonzero(row).tolist() for row in held)
