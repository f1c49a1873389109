"""Sets of popular items, of several sizes."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from stream_ldp.sets.evaluation import popular_sets
from tests.populations import ROWS, WINDOW, Setting

EPSILONS = (1.0, 2.0, 4.0)


def settings(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield sets of 3, 7 and 12 items on average, of 60 to 1,000, whose frequencies fall by a power of 0.8 to 1.3.

    Sets of 22 of 30 items on average, of frequencies from 0.98 to 0.5, come last.
    """
    for items, mean, exponent, k, more in (
        (1_000, 7, 1.1, 10, ""),
        (100, 3, 0.8, 10, ""),
        (60, 12, 1.3, 8, ""),
        (60, 5, 1.0, 8, ", itemsets: {k: 8, sizes: [2]}"),
    ):
        sizes = np.minimum(rng.geometric(1 / mean, ROWS), items // 2)
        sets = popular_sets(sizes, rng, domain=items, exponent=exponent)
        padding = int(np.quantile(sizes, 0.9))
        # Numbers of items do not follow their frequencies.
        names = rng.permutation(items)[sets.items].tolist()
        ends = sets.offsets.tolist()
        lines = [names[start:end] for start, end in pairwise(ends)]
        for kind in ("svim",) if more else ("svim", "gfim-users"):
            yield from _of_each_epsilon(f"{items} items, {mean} a set", lines, kind, items, k, padding, more)
    lines = [np.flatnonzero(held).tolist() for held in rng.random((ROWS, 30)) < np.linspace(0.98, 0.5, 30)]
    padding = int(np.quantile([len(line) for line in lines], 0.9))
    for kind in ("svim", "gfim-users"):
        yield from _of_each_epsilon("30 items, 22 a set", lines, kind, 30, 8, padding)


def _of_each_epsilon(
    name: str, lines: list[list[int]], kind: str, items: int, k: int, padding: int, more: str = ""
) -> Iterator[Setting]:
    for epsilon in EPSILONS:
        mechanism = f"{{kind: {kind}, epsilon: {epsilon}, k: {k}, set_size: {padding}}}"
        text = f"{{{WINDOW}, mechanism: {mechanism}, items: {{size: {items}}}{more}}}"
        yield Setting(f"{name}, {kind}, epsilon {epsilon:g}{more}", text, [], lines)
