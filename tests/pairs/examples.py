"""Make collections of key-value data, users, and estimates."""

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pairs.answer import PairEstimates
from stream_ldp.pairs.collection import PairsCollection
from stream_ldp.questions.questions import Table
from tests.questions.examples import solved, sums_of

TEXT = """
collection: features
mechanism: {{kind: pairs, {mechanism}}}
keys: {{names: [search, maps, photos], ranges: [[0, 60], [0, 10], [-1, 1]]{keys}}}
min_reports: 1
window: {{size: 10s, grace: 1s}}
"""

#: Shares of the users who hold each key, and the means of their numbers; nobody holds the last.
HELD = (0.6, 0.25, 0.0)
MEANS = (15.0, 8.0)


def collection_of(mechanism: str = "epsilon: 2, padding: 2", keys: str = "") -> PairsCollection:
    return PairsCollection.parse(TEXT.format(mechanism=mechanism, keys=keys))


def users(count: int, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    table = np.full(count, np.nan, dtype=[("0", "<f8"), ("1", "<f8"), ("2", "<f8")])
    for place, (share, mean) in enumerate(zip(HELD, MEANS, strict=False)):
        top = (60, 10)[place]
        numbers = (mean + top / 10 * rng.uniform(-1, 1, count)).clip(0, top)
        table[str(place)] = np.where(rng.random(count) < share, numbers, np.nan)
    return table


def rows_of(collection: PairsCollection, table: Table, seed: int = 2) -> NDArray[np.uint8]:
    numbers = np.zeros(len(table), dtype=np.int64)
    return collection.questions.perturb(numbers, table, entropy=SeededEntropy(seed))


def estimates_of(collection: PairsCollection, count: int = 20_000, *, final: bool = True) -> PairEstimates:
    estimates: PairEstimates
    estimates = solved(collection, (1.0, sums_of(collection, rows_of(collection, users(count)))), final=final)
    return estimates
