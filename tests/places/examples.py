"""Make collections of places, users, and counts."""

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.questions.questions import Table
from tests.questions.examples import solved, sums_of

TEXT = """
collection: visits
mechanism: {{kind: places, {mechanism}}}
places:
  north: [a, b]
  south: [c, d, e]
min_reports: 1
window: {{size: 10s, grace: 1s{window}}}
"""

#: Of `a` to `e`.
SHARES = (0.4, 0.25, 0.2, 0.1, 0.05)


def collection_of(mechanism: str = "epsilon: [0.5, 2]", window: str = "") -> PlaceCollection:
    return PlaceCollection.parse(TEXT.format(mechanism=mechanism, window=window))


def users(count: int, seed: int = 1) -> Table:
    """Half of the users choose everywhere, and half their part; two thirds the larger epsilon."""
    rng = np.random.default_rng(seed)
    table = np.zeros(count, dtype=[("0", "<i8"), ("1", "<i8"), ("2", "<i8")])
    table["0"] = rng.choice(5, count, p=SHARES)
    table["1"] = np.where(rng.random(count) < 0.5, 0, np.where(table["0"] < 2, 1, 2))
    table["2"] = rng.random(count) < 2 / 3
    return table


def rows_of(collection: PlaceCollection, table: Table, seed: int = 2) -> NDArray[np.uint8]:
    return collection.questions.perturb(collection.chosen(table), table, entropy=SeededEntropy(seed))


def counts_of(collection: PlaceCollection, count: int = 20_000, *, final: bool = True) -> PlaceCounts:
    counts: PlaceCounts
    counts = solved(collection, (1.0, sums_of(collection, rows_of(collection, users(count)))), final=final)
    return counts
