"""This benchmark measures what earlier epochs add to a result: `python -m tests.benchmarks.epochs`.

8 epochs of 100,000 new users each, with some of the items by Zipf's law: at most 8 of 4,096; and 1 to 150 of 200 by a
power law, of whom one in ten has more than the set size that methods are told. Of the published top 32 in the last 6
epochs of 2 series: the root mean square error of the frequencies as the epoch alone gives them and with previous
epochs, and how many +-1.96 standard errors hold the truth. Three minutes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.evaluation import run_epoch
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import RankingEstimate
from stream_ldp.sets.solve import filter_epoch
from tests.benchmarks.zipf_sets import long_tailed_sets, zipf_sets
from tests.sets.methods.examples import method

USERS, K = 100_000, 32
KINDS = ("gfim-users", "gfim", "ldpminer", "svim")
EPSILONS = (1.0, 2.0, 4.0)
EPOCHS, FIRST_SCORED, SERIES = 8, 2, 2


class Population(NamedTuple):
    """New users for every epoch, who have some of the items 0 to domain - 1.

    drawn: their sets, from a seed.
    """

    name: str
    domain: int
    set_size: int
    drawn: Callable[[int], ItemSets]


POPULATIONS = (
    Population(
        "sets of at most 8",
        4_096,
        8,
        lambda seed: zipf_sets(users=USERS, domain=4_096, mean_size=4.0, max_size=8, seed=seed),
    ),
    Population(
        "sets of 1 to 150 of 200 items",
        200,
        17,
        lambda seed: long_tailed_sets(users=USERS, domain=200, max_size=150, seed=seed),
    ),
)


class Measured(NamedTuple):
    """Errors alone and with previous epochs, and the coverage of the latter."""

    alone: float
    learnt: float
    covered: float


def measured(kind: str, population: Population, *, epsilon: float) -> Measured:
    """Run the series of epochs of a method."""
    asked = method(kind, domain=population.domain, k=K, epsilon=epsilon, set_size=population.set_size)
    reports = round(USERS * asked.phases[-1].part)
    alone, learnt, covered = [], [], []
    for series in range(SERIES):
        earlier = None
        for epoch in range(EPOCHS):
            seed = 100 * series + epoch
            sets = population.drawn(seed)
            truth = sets.frequencies(population.domain)
            own = run_epoch(asked, sets, entropy=SeededEntropy(1_000 + seed))
            result = filter_epoch(own, earlier, epoch=epoch, reports=reports)
            earlier = result.left
            if epoch >= FIRST_SCORED:
                alone.append(_squares(own, truth))
                learnt.append(_squares(result.estimate, truth))
                best = result.estimate
                off = np.abs(best.frequency - truth[best.items])[:K]
                covered.append(np.mean(off <= 1.96 * best.standard_error[:K]))
    return Measured(float(np.sqrt(np.mean(alone))), float(np.sqrt(np.mean(learnt))), float(np.mean(covered)))


def _squares(estimate: RankingEstimate, truth: NDArray[np.float64]) -> float:
    return float(np.mean((estimate.frequency - truth[estimate.items])[:K] ** 2))


def main() -> None:
    """Print a table of each population."""
    for population in POPULATIONS:
        table = Table(
            title=f"Error alone, with previous epochs, and coverage: {population.name}", title_justify="left"
        )
        table.add_column("method")
        for epsilon in EPSILONS:
            table.add_column(f"epsilon {epsilon:g}", justify="right")
        for kind in KINDS:
            found = [measured(kind, population, epsilon=epsilon) for epsilon in EPSILONS]
            table.add_row(kind, *(f"{each.alone:.4f}  {each.learnt:.4f}  {each.covered:.2f}" for each in found))
        Console(width=118).print(table)


if __name__ == "__main__":
    main()
