"""What designs lose to the better of single attributes and of pairs, where nobody knows how much attributes depend.

python -m tests.benchmarks.designs draws tables of attributes of several sizes, whose pairs are on average 0, 0.03 and
0.1 from independent, and 10 windows of 20,000 users of each, at epsilon 0.5, 1 and 2. Answers have normal noise with
the variance of the oracle. The regret of a design is the largest ratio, over the dependences, of its mean AVD of all
pairs of attributes to that of the better of single attributes and pairs. It prints that of single attributes, of
pairs, of those by which a share of the users report single attributes and the others pairs, of the one that `auto`
takes, and of the one that it takes then for the dependence that a window has shown (`plan --finals`). The least of a
row is the minimax regret of such designs. Two minutes.

With --data FILE, which may be repeated, users are drawn from a table of yours, whose dependence is one. --users and
--epsilon, which may be repeated, take others.
"""

import argparse
import csv
import gzip
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.evaluation.prediction import assumed_records
from stream_ldp.views.design import Design, candidates, ranked
from stream_ldp.views.fitting import Fit
from stream_ldp.views.tables import ViewTable

SIZES = ((2,) * 12, (2,) * 17, (3, 2, 4), (4, 5, 6, 7, 8), (2, 3, 5, 7, 9, 11), (2, 3, 4, 5, 6, 7, 8, 9, 11))
DEPENDENCES, EPSILONS, USERS, WINDOWS = (0.0, 0.05, 0.15), (0.5, 1.0, 2.0), 20_000, 10
DESIGNS = ("attributes", *(f"attributes {share} + pairs" for share in (0.9, 0.75, 0.5, 0.25, 0.1)), "pairs")
#: Most values of an attribute of a table of yours: those with more are left out.
MOST_VALUES = 50


def shares(people: NDArray[np.int64], sizes: tuple[int, ...], view: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the joint distribution of some attributes."""
    shape = tuple(sizes[place] for place in view)
    cells = np.ravel_multi_index(tuple(people[:, place] for place in view), shape)
    found: NDArray[np.float64] = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / len(people)
    return found


def distance(design: Design, people: NDArray[np.int64]) -> tuple[float, float]:
    """Return the mean AVD of all pairs that users report by a design, mean over the windows, and the last one's
    dependence.
    """
    generator = np.random.default_rng(0)
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
    products = (np.outer(fit.margin(one), fit.margin(other)) for one, other in pairs)
    shown = [np.abs(fit.joint(pair).probability - each).sum() / 2 for pair, each in zip(pairs, products, strict=True)]
    return float(np.mean(found)), float(np.mean(shown))


def regrets(tables: list[NDArray[np.int64]], sizes: tuple[int, ...], *, epsilon: float) -> tuple[str, list[float]]:
    """Return the design that `auto` takes, and the regret of each of `DESIGNS`, of that one, and of the next one.

    The next one is chosen for the dependence that a window of the first has shown.

    tables: of the users, by how much their attributes depend on each other.
    """
    designs = {each.name: each for each in candidates(sizes, epsilon=epsilon, names=DESIGNS)}
    first, *_ = ranked(sizes, epsilon=epsilon, users=len(tables[0]))
    columns = []
    for people in tables:
        found = {name: distance(design, people) for name, design in designs.items()}
        better = min(found[name][0] for name in ("attributes", "pairs"))
        own, shown = found.get(first.name) or distance(first, people)
        second, *_ = ranked(sizes, epsilon=epsilon, users=len(people), dependence=shown) if shown else [first]
        then, _ = found.get(second.name) or distance(second, people)
        columns.append([each / better for each in (*(found[name][0] for name in DESIGNS), own, then)])
    return first.name, np.max(columns, axis=0).tolist()


def read(path: Path) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Read a table, and the number of values of each attribute."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        _, *rows = csv.reader(file)
    columns = [np.unique(column, return_inverse=True) for column in zip(*rows, strict=True)]
    kept = [(len(values), numbers) for values, numbers in columns if len(values) <= MOST_VALUES]
    return np.stack([numbers for _, numbers in kept], axis=1), tuple(size for size, _ in kept)


def cases(given: list[Path], users: int) -> Iterator[tuple[str, tuple[int, ...], list[NDArray[np.int64]]]]:
    """Yield the name, the numbers of values, and the tables of each case."""
    for path in given:
        people, sizes = read(path)
        yield path.name, sizes, [people[np.random.default_rng(1).integers(len(people), size=users)]]
    for sizes in () if given else SIZES:
        name = ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else f"{len(sizes)} x {sizes[0]}"
        yield name, sizes, [assumed_records(sizes, users, seed=1, dependence=each) for each in DEPENDENCES]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, action="append", default=[])
    parser.add_argument("--users", type=int, action="append", default=[])
    parser.add_argument("--epsilon", type=float, action="append", default=[])
    given = parser.parse_args()
    table = Table(
        "values",
        "epsilon",
        "users",
        *(each.removesuffix(" + pairs") for each in DESIGNS),
        "least",
        "auto",
        "",
        "then",
    )
    least, taken, later = [], [], []
    for users in given.users or [USERS]:
        for (name, sizes, tables), epsilon in product(cases(given.data, users), given.epsilon or EPSILONS):
            chosen, (*found, own, then) = regrets(tables, sizes, epsilon=epsilon)
            least.append(min(found))
            taken.append(own)
            later.append(then)
            numbers = (f"{each:.2f}" for each in (*found, least[-1]))
            table.add_row(name, f"{epsilon:g}", f"{users:,}", *numbers, chosen, f"{own:.2f}", f"{then:.2f}")
    console = Console(width=180)
    console.print(table)
    for name, ratios in (("the least", least), ("auto", taken), ("then", later)):
        counts = ", ".join(f"above {most}: {sum(each > most for each in ratios)}" for most in (1.1, 1.2, 1.3))
        mean = np.exp(np.mean(np.log(ratios)))
        console.print(f"{name}: largest {max(ratios):.2f}, geometric mean {mean:.3f}, {counts} of {len(ratios)}")


if __name__ == "__main__":
    main()
