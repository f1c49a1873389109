"""This benchmark measures what earlier epochs add to a result: `python -m tests.benchmarks.epochs`.

8 epochs of 100,000 new users each, with at most 8 of 4,096 items by Zipf's law. Of the last 6 epochs of 2 series:
the root mean square error of the candidates' frequencies as the epoch alone gives them and with the epochs
before, and the part of the candidates whose +-1.96 standard errors hold the truth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.epoch import run_epoch
from stream_ldp.sets.phases import RankingEstimate
from stream_ldp.sets.temporal import learn
from tests.benchmarks.zipf_sets import zipf_sets
from tests.sets.methods.examples import method

__all__ = ["Measured", "measured"]

USERS, DOMAIN, SET_SIZE, K = 100_000, 4_096, 8, 32
KINDS = ("gfim-users", "gfim", "ldpminer", "svim")
EPSILONS = (1.0, 2.0, 4.0)
EPOCHS, FIRST_SCORED, SERIES = 8, 2, 2


class Measured(NamedTuple):
    """Errors alone and with the epochs before, and the coverage of the latter."""

    alone: float
    learnt: float
    covered: float


def measured(kind: str, *, epsilon: float) -> Measured:
    """Run the series of epochs of a method."""
    asked = method(kind, domain=DOMAIN, k=K, epsilon=epsilon, set_size=SET_SIZE)
    reports = round(USERS * asked.phases[-1].part)
    alone, learnt, covered = [], [], []
    for series in range(SERIES):
        earlier = None
        for epoch in range(EPOCHS):
            seed = 100 * series + epoch
            sets = zipf_sets(users=USERS, domain=DOMAIN, mean_size=4.0, max_size=SET_SIZE, seed=seed)
            truth = sets.frequencies(DOMAIN)
            own = run_epoch(asked, sets, entropy=SeededEntropy(1_000 + seed))
            result = learn(own, earlier, epoch=epoch, reports=reports)
            earlier = result.left
            if epoch >= FIRST_SCORED:
                alone.append(_squares(own, truth))
                learnt.append(_squares(result.estimate, truth))
                off = np.abs(result.estimate.frequency - truth[result.estimate.items])
                covered.append(np.mean(off <= 1.96 * result.estimate.standard_error))
    return Measured(float(np.sqrt(np.mean(alone))), float(np.sqrt(np.mean(learnt))), float(np.mean(covered)))


def _squares(estimate: RankingEstimate, truth: NDArray[np.float64]) -> float:
    return float(np.mean((estimate.frequency - truth[estimate.items]) ** 2))


def main() -> None:
    """Print the table."""
    table = Table(title="Error alone, with the epochs before, and coverage", title_justify="left")
    table.add_column("method")
    for epsilon in EPSILONS:
        table.add_column(f"epsilon {epsilon:g}", justify="right")
    for kind in KINDS:
        found = [measured(kind, epsilon=epsilon) for epsilon in EPSILONS]
        table.add_row(kind, *(f"{each.alone:.4f}  {each.learnt:.4f}  {each.covered:.2f}" for each in found))
    Console(width=118).print(table)


if __name__ == "__main__":
    main()
