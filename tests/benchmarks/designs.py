"""What `ask: auto` loses to the better of single attributes and of pairs, on tables that depend on each other or not.

python -m tests.benchmarks.designs draws tables of attributes of several sizes, whose pairs are on average 0, 0.03 and
0.1 from independent, and 10 windows of 20,000 and 100,000 users of each, at epsilon 0.5, 1, 2 and 4. Answers have
normal noise with the variance of the oracle. It prints the mean AVD of all pairs of attributes by single attributes,
by pairs and by `auto`, and how often and by how much the last is above the better of the others. Two minutes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.evaluation.prediction import assumed_records
from stream_ldp.views.design import Design, candidates, ranked
from stream_ldp.views.fitting import Fit
from stream_ldp.views.tables import ViewTable

SIZES = ((2,) * 12, (2,) * 17, (3, 2, 4), (4, 5, 6, 7, 8), (2, 3, 5, 7, 9, 11), (2, 3, 4, 5, 6, 7, 8, 9, 11))
DEPENDENCES, EPSILONS, USERS, WINDOWS = (0.0, 0.03, 0.1), (0.5, 1.0, 2.0, 4.0), (20_000, 100_000), 10


def shares(people: NDArray[np.int64], sizes: tuple[int, ...], view: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the joint distribution of some attributes."""
    shape = tuple(sizes[place] for place in view)
    cells = np.ravel_multi_index(tuple(people[:, place] for place in view), shape)
    found: NDArray[np.float64] = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / len(people)
    return found


def distance(design: Design, people: NDArray[np.int64], generator: np.random.Generator) -> float:
    """Return the mean AVD of all pairs that users report by a design, mean over the windows."""
    truths = {view: shares(people, design.sizes, view) for view in design.views}
    pairs = {pair: shares(people, design.sizes, pair) for pair in combinations(range(len(design.sizes)), 2)}
    asked = [
        ViewTable(
            of=view, oracle=design.oracle_of(view), reports=len(people) * share, frequencies=truths[view]
        ).noisy(truths[view], repeats=WINDOWS, generator=generator)
        for view, share in zip(design.views, design.shares, strict=True)
    ]
    found = []
    for window in range(WINDOWS):
        fit = Fit([replace(each, frequencies=each.frequencies[window]) for each in asked], sizes=design.sizes)
        found += [np.abs(fit.joint(pair).probability - truth).sum() / 2 for pair, truth in pairs.items()]
    return float(np.mean(found))


def main() -> None:
    """Print the table."""
    table = Table("values", "dependence", "epsilon", "users", "attributes", "pairs", "auto", "", "over the better")
    ratios, generator = [], np.random.default_rng(0)
    for sizes, dependence in product(SIZES, DEPENDENCES):
        drawn = assumed_records(sizes, max(USERS), seed=1, dependence=dependence)
        for epsilon, users in product(EPSILONS, USERS):
            single, pairs = (candidates(sizes, epsilon=epsilon, names=[name])[0] for name in ("attributes", "pairs"))
            chosen = ranked(sizes, epsilon=epsilon, users=users)[0]
            errors = [distance(each, drawn[:users], generator) for each in (single, pairs)]
            alike = [error for each, error in zip((single, pairs), errors, strict=True) if each.name == chosen.name]
            errors += alike or [distance(chosen, drawn[:users], generator)]
            ratios.append(errors[2] / min(errors[:2]))
            table.add_row(
                ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else f"{len(sizes)} x {sizes[0]}",
                f"{dependence:g}",
                f"{epsilon:g}",
                f"{users:,}",
                *(f"{error:.4f}" for error in errors),
                chosen.name,
                f"{ratios[-1]:.2f}",
            )
    console = Console(width=150)
    console.print(table)
    for most in (1.1, 1.2, 1.3):
        console.print(f"above {most}: {sum(ratio > most for ratio in ratios)} of {len(ratios)}")
    mean = np.exp(np.mean(np.log(ratios)))
    console.print(f"largest {max(ratios):.2f}, geometric mean {mean:.3f}")


if __name__ == "__main__":
    main()
