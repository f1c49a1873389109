"""This benchmark measures how far errors and tests of views can be trusted.

python -m tests.benchmarks.view_coverage takes two attributes and a third that is independent of them, of which each
user tells one pair or the first alone, in 40 windows (seeds 0 to 39) of 3,000 and of 30,000 users, at epsilon 1 and
4, by k-RR and by Hadamard responses. The first value of each attribute has as many users as the others, 80 % or 97 %.
A part of the users has the second attribute decided by the first, and the others have it by chance. It prints the
part of the cells with at least 1 % of the users that +-1.96 standard errors hold, and of the windows in which the two
attributes are found dependent at 5 %. A minute.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import chdtrc

from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, HadamardResponse, SeededEntropy
from stream_ldp.views.errors import errors_of
from stream_ldp.views.fitting import Fit
from stream_ldp.views.independence import dependence
from stream_ldp.views.tables import ViewTable

Oracle = type[DirectResponse] | type[HadamardResponse]

SIZES = ((2, 2), (4, 3), (6, 5))
SKEWS = (None, 0.8, 0.97)
DECIDED = (0.0, 0.3, 0.9)
VIEWS = ((0, 1), (0, 2), (1, 2), (0,))
USERS, EPSILONS, WINDOWS = (3_000, 30_000), (1.0, 4.0), 40
ORACLES: tuple[Oracle, ...] = (DirectResponse, HadamardResponse)
MIN_SHARE, SIGNIFICANCE, LEAST = 0.01, 0.05, 0.92


class Population(NamedTuple):
    """Users with two attributes, and a third of two values.

    sizes: number of values of the two.
    most: share of the first value of each attribute; None if all have the same.
    decided: part of the users whose second attribute is that of the first.
    """

    sizes: tuple[int, int]
    most: float | None
    decided: float

    @property
    def margins(self) -> list[NDArray[np.float64]]:
        """The distribution of each attribute by chance."""
        return [_margin(size, self.most) for size in (*self.sizes, 2)]

    @property
    def joint(self) -> NDArray[np.float64]:
        """The joint distribution of the two attributes, of shape `sizes`."""
        first, second, _ = self.margins
        found = (1 - self.decided) * np.outer(first, second)
        found[np.arange(len(first)), np.arange(len(first)) % len(second)] += self.decided * first
        return found


class Window(NamedTuple):
    """Part of the cells whose intervals hold the truth, and whether the attributes are found dependent."""

    held: float
    dependent: bool


def windows(population: Population, oracle: Oracle, *, users: int, epsilon: float) -> list[Window]:
    """Estimate the joint distribution of the two attributes in each window."""
    truth, rng, found = population.joint, np.random.default_rng(1), []
    often = truth >= MIN_SHARE
    for seed in range(WINDOWS):
        pair = np.unravel_index(rng.choice(truth.size, users, p=truth.ravel()), truth.shape)
        columns = [*pair, rng.choice(2, users, p=population.margins[2])]
        fit = _told(columns, (*population.sizes, 2), oracle, epsilon=epsilon, seed=seed)
        joint = fit.joint((0, 1)).probability
        held = np.abs(joint - truth) <= 1.96 * errors_of(fit, fit.tables, joint, of=(0, 1)).standard_error
        shown = dependence(fit, of=(0, 1))
        rejected = bool(chdtrc(shown.freedom, shown.statistic) < SIGNIFICANCE)
        found.append(Window(float(held[often].mean()), rejected))
    return found


def _margin(size: int, most: float | None) -> NDArray[np.float64]:
    if most is None:
        return np.full(size, 1 / size)
    return np.array([most, *[(1 - most) / (size - 1)] * (size - 1)])


def _told(
    columns: list[NDArray[np.int64]],
    sizes: tuple[int, ...],
    oracle: Oracle,
    *,
    epsilon: float,
    seed: int,
) -> Fit:
    """Fit the answers of users of whom as many tell each view."""
    tables, entropy = [], SeededEntropy(seed)
    for of, users in zip(VIEWS, np.array_split(np.arange(len(columns[0])), len(VIEWS)), strict=True):
        shape = tuple(sizes[place] for place in of)
        asked: FrequencyOracle = oracle(size=int(np.prod(shape)), epsilon=epsilon)
        cells = np.ravel_multi_index(tuple(columns[place][users] for place in of), shape)
        sums = asked.sums(asked.perturb(cells, entropy=entropy))
        told = asked.estimate(sums, reports=len(users)).reshape(shape)
        tables.append(ViewTable(of=of, oracle=asked, reports=len(users), frequencies=told))
    return Fit(tables, sizes=sizes)


def main() -> None:
    """Print a row for each population, over all numbers of users, epsilons and oracles."""
    table = Table(title="Cells held, rows below 0.92, and windows found dependent", title_justify="left")
    for column in ("values", "most frequent", "decided", "held", f"below {LEAST}", "lowest", "dependent"):
        table.add_column(column, justify="left" if column == "values" else "right")
    for sizes, most, decided in product(SIZES, SKEWS, DECIDED):
        population = Population(sizes, most, decided)
        rows = [
            windows(population, oracle, users=users, epsilon=epsilon)
            for oracle in ORACLES
            for users, epsilon in product(USERS, EPSILONS)
        ]
        held = [float(np.mean([window.held for window in row])) for row in rows]
        table.add_row(
            f"{sizes[0]} x {sizes[1]}",
            "as the others" if most is None else f"{most:.0%}",
            f"{decided:.0%}",
            f"{np.mean(held):.3f}",
            f"{sum(each < LEAST for each in held)} of {len(held)}",
            f"{min(held):.2f}",
            f"{np.mean([window.dependent for row in rows for window in row]):.3f}",
        )
    Console(width=118).print(table)


if __name__ == "__main__":
    main()
