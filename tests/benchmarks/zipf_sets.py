"""Item sets with popular items, as a file of transactions: `python -m tests.benchmarks.zipf_sets FILE.txt.gz`.

Item i of 1 to 4,096 is drawn with a probability proportional to i^-1.1, without replacement, by each of 400,000 users
until he has as many as he wants: 1 to 30, geometric with a mean near 7. A few seconds.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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
    return filled(wanted, rng, domain=domain, exponent=exponent)


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
    return filled(wanted, rng, domain=domain, exponent=exponent)


def filled(wanted: NDArray[np.int64], rng: np.random.Generator, *, domain: int, exponent: float) -> ItemSets:
    """Draw as many items as each user wants."""
    users = len(wanted)
    popularity = np.cumsum(np.arange(1, domain + 1) ** -exponent)
    # A user and an item as one number. Whoever drew an item again draws as many more.
    complete: list[NDArray[np.int64]] = []
    held: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    missing = wanted
    while missing.any():
        drawn = np.searchsorted(popularity, rng.random(missing.sum()) * popularity[-1])
        held = np.sort(np.concatenate((held, np.repeat(np.arange(users), missing) * domain + drawn)))
        # What np.union1d gives; it takes several times as long by hashing.
        held = held[np.diff(held, prepend=-1) > 0]
        owner = held // domain
        missing = np.where(missing > 0, wanted - np.bincount(owner, minlength=users), 0)
        waits = missing[owner] > 0
        complete.append(held[~waits])
        held = held[waits]
    keys = np.sort(np.concatenate(complete))
    return ItemSets(np.concatenate(([0], np.cumsum(wanted))), keys % domain)


def write(sets: ItemSets, path: Path) -> None:
    """A set a line, gzipped; items are counted from 1."""
    with gzip.open(path, "wt", encoding="ascii", compresslevel=1) as file:
        for start, end in zip(sets.offsets[:-1].tolist(), sets.offsets[1:].tolist(), strict=True):
            file.write(" ".join(map(str, (sets.items[start:end] + 1).tolist())) + "\n")


if __name__ == "__main__":
    write(zipf_sets(), Path(sys.argv[1]))
