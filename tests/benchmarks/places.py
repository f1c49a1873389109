"""Measure what regions and epsilons of the users' own choice gain: the tables of docs/mechanisms.md on places.

python -m tests.benchmarks.places

256 places in a quadtree, 100,000 users around four towns. 30 % of them choose everywhere, 30 % a quarter, 30 % a
sixteenth and 10 % four places; each chooses one of three epsilons, whatever the place is or mostly by town.
"""

import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from stream_ldp.evaluation.experiment import Experiment, scores
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.places.evaluation import EVALUATION
from stream_ldp.questions.questions import Table

COLLECTION = PlaceCollection.parse("""
collection: visits
mechanism: {kind: places, epsilon: [0.5, 1, 2]}
levels: [4, 4, 4, 4]
window: {size: 60s}
""")
USERS, REPEATS, SEED = 100_000, 10, 3

_SIDE = 16
_TOWNS = np.array([[3, 3], [11, 5], [6, 12], [13, 13]])
_TOWN_SHARES = (0.4, 0.3, 0.2, 0.1)
_DEPTH_SHARES = (0.3, 0.3, 0.3, 0.1)
_EPSILON_SHARES = (1 / 3, 1 / 3, 1 / 3)
_OF_THE_LARGEST_TOWN, _OF_OTHERS = (0.7, 0.2, 0.1), (0.15, 0.35, 0.5)


def population(users: int, *, by_town: bool, seed: int) -> Table:
    """Draw users, each with a place, a region that holds it, and an epsilon.

    by_town: whether most users of the largest town choose the least epsilon, and those of others a larger one.
    """
    rng = np.random.default_rng(seed)
    town = rng.choice(len(_TOWNS), users, p=_TOWN_SHARES)
    cells = np.clip(np.round(_TOWNS[town] + rng.normal(0, 1.6, (users, 2))), 0, _SIDE - 1).astype(np.int64)
    table = np.zeros(users, dtype=[("0", "<i8"), ("1", "<i8"), ("2", "<i8")])
    for bit in range(4):  # the cells of a square of any size come one after another
        for axis in range(2):
            table["0"] |= (cells[:, axis] >> bit & 1) << (2 * bit + axis)
    number = {(each.depth, each.first): place for place, each in enumerate(COLLECTION.tree.regions)}
    depths = rng.choice(len(_DEPTH_SHARES), users, p=_DEPTH_SHARES)
    sizes = 4 ** (4 - depths)
    firsts = table["0"] // sizes * sizes
    table["1"] = [number[each] for each in zip(depths.tolist(), firsts.tolist(), strict=True)]
    table["2"] = rng.choice(3, users, p=_EPSILON_SHARES)
    if by_town:
        largest = town == 0
        table["2"] = np.where(
            largest, rng.choice(3, users, p=_OF_THE_LARGEST_TOWN), rng.choice(3, users, p=_OF_OTHERS)
        )
    return table


class Errors(NamedTuple):
    """The errors of a place's count: root mean squares, by name as `stream-ldp evaluate` has them."""

    regions: str
    weights: str
    metrics: dict[str, float]


def measured(
    *, by_town: bool, repeats: int = REPEATS, clock: Callable[[], float] = time.perf_counter
) -> list[Errors]:
    """Score the collection, with and without weights, and one without regions."""
    people = population(USERS, by_town=by_town, seed=SEED)
    found = []
    for weights in ("users", "variance"):
        spec = COLLECTION.mechanism_spec.model_copy(update={"weights": weights})
        collection = COLLECTION.model_copy(update={"mechanism_spec": spec})
        experiment = Experiment(
            collection=collection, population=people, users=USERS, measure=EVALUATION.measure, clock=clock
        )
        found.append(scores(experiment.repeats(repeats, seed=SEED)))
    (alike, everyone), (weighted, _) = (
        [{name: float(value) for name, value in each.metrics.items()} for each in scored.values()] for scored in found
    )
    return [
        Errors("chosen", "users", alike),
        Errors("chosen", "variance", weighted),
        Errors("none", "users", everyone),
    ]


def tables() -> Iterator[str]:
    """Yield the table of the root mean squared error of a place's count, as lines of Markdown."""
    yield "| epsilon | regions | weights | raw | expected | projected | to everyone's raw | to everyone's projected |"
    yield "|---|---|---|---:|---:|---:|---:|---:|"
    for by_town in (False, True):
        found = measured(by_town=by_town)
        everyone = found[-1]
        for each in found if not by_town else found[:-1]:
            chosen = "0.5 for everyone" if each is everyone else "by town" if by_town else "whatever the place"
            raw, expected, projected = (each.metrics[name] for name in ("rmse", "rmse_expected", "rmse_projected"))
            yield (
                f"| {chosen} | {each.regions} | {each.weights} | {raw:.0f} | {expected:.0f} | {projected:.0f} | "
                f"{projected / everyone.metrics['rmse']:.2f} | {projected / everyone.metrics['rmse_projected']:.2f} |"
            )


if __name__ == "__main__":
    for line in tables():
        sys.stdout.write(f"{line}\n")
