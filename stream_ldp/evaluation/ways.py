"""Random sets of attributes whose joint distributions are estimated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

#: Most sets of attributes that are counted before some are drawn, and draws for each set that is wanted.
_ENUMERATED, _DRAWS = 20_000, 1_000


def drawn_sets(sizes: Sequence[int], *, ways: int, sets: int, most_cells: int, seed: int) -> list[tuple[int, ...]]:
    """Draw sets of so many attributes whose joint distributions have at most so many cells; all if there are fewer.

    Returns:
        Ascending positions, in their order; empty if no set has so few cells.
    """
    generator = np.random.default_rng(seed)
    small = math.comb(len(sizes), ways) <= _ENUMERATED
    if small and sum(math.prod(sizes[place] for place in of) <= most_cells for of in _all(sizes, ways)) <= sets:
        return [of for of in _all(sizes, ways) if math.prod(sizes[place] for place in of) <= most_cells]
    found: set[tuple[int, ...]] = set()
    for _ in range(_DRAWS * sets):
        if len(found) == sets:
            break
        of = tuple(sorted(generator.choice(len(sizes), ways, replace=False).tolist()))
        if math.prod(sizes[place] for place in of) <= most_cells:
            found.add(of)
    return sorted(found)


def _all(sizes: Sequence[int], ways: int) -> Iterator[tuple[int, ...]]:
    return combinations(range(len(sizes)), ways)
