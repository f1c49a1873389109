"""Item sets with popular items, as a file of transactions: `python -m tests.benchmarks.zipf_sets FILE.txt.gz`.

Item i of 1 to 4,096 is drawn with a probability proportional to i^-1.1, without replacement, by each of 400,000 users
until he has as many as he wants: 1 to 30, geometric with a mean near 7. A few seconds.
"""

import gzip
import sys
from pathlib import Path

import numpy as np

from stream_ldp.sets.evaluation import popular_sets
from stream_ldp.sets.item_sets import ItemSets


def zipf_sets(
    *,
    users: int = 400_000,
    domain: int = 4_096,
    exponent: float = 1.1,
    mean_size: float = 7.0,
    max_size: int = 30,
    seed: int = 0,
) -> ItemSets:
    """Sets of items 0 to domain - 1, the most popular first.

    mean_size: of the geometric distribution from 1, before it is cut at `max_size`.
    """
    rng = np.random.default_rng(seed)
    wanted = np.minimum(rng.geometric(1.0 / mean_size, users), max_size)
    return popular_sets(wanted, rng, domain=domain, exponent=exponent)


def long_tailed_sets(
    *,
    users: int = 100_000,
    domain: int = 4_096,
    exponent: float = 1.1,
    power: float = 1.6,
    max_size: int = 267,
    seed: int = 0,
) -> ItemSets:
    """Sets of 1 to `max_size` items, as many in proportion to size^-power, of items like those of `zipf_sets`."""
    rng = np.random.default_rng(seed)
    shares = np.arange(1, max_size + 1) ** -power
    wanted = 1 + rng.choice(max_size, users, p=shares / shares.sum())
    return popular_sets(wanted, rng, domain=domain, exponent=exponent)


def write(sets: ItemSets, path: Path) -> None:
    """A set a line, gzipped; items are counted from 1."""
    with gzip.open(path, "wt", encoding="ascii", compresslevel=1) as file:
        for start, end in zip(sets.offsets[:-1].tolist(), sets.offsets[1:].tolist(), strict=True):
            file.write(" ".join(map(str, (sets.items[start:end] + 1).tolist())) + "\n")


if __name__ == "__main__":
    write(zipf_sets(), Path(sys.argv[1]))
