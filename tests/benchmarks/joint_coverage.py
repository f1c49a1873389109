"""This benchmark measures how far errors of joint distributions can be trusted, on generated tables.

python -m tests.benchmarks.joint_coverage prints the share of cells whose +-1.96 standard errors hold the truth, for
tables from independent to deterministic: the lowest of five noises, over 20 draws (seeds 0 to 19) or as many as an
argument says. It takes some minutes.
"""

from __future__ import annotations

import sys
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import estimator
from stream_ldp.records.evaluation import joint_of

__all__ = ["TABLES", "coverage"]

FloatArray = NDArray[np.float64]

USERS = (300, 1_000, 2_700, 10_000, 50_000)
DRAWS = 20
NOISES: tuple[dict[str, float], ...] = (
    {"f": 0.1},
    {"f": 0.5},
    {"f": 0.9},
    {"f": 0.25, "p": 0.5, "q": 0.75},
    {"f": 0.5, "p": 0.5, "q": 0.75},
)


def _parity() -> FloatArray:
    """Two fair coins and whether they agree."""
    return np.where(np.indices((2, 2, 2)).sum(axis=0) % 2 == 0, 0.25, 0.0)


def _alike(size: int, attributes: int, other: float) -> FloatArray:
    """All attributes alike, but for what is `other` times as frequent as the alike."""
    joint = np.full((size,) * attributes, other)
    joint[(np.arange(size),) * attributes] = 1.0
    total: float = joint.sum()
    return joint / total


def _product(*marginals: list[float]) -> FloatArray:
    joint: FloatArray = reduce(np.multiply.outer, [np.array(each) for each in marginals])
    return joint


TABLES: dict[str, FloatArray] = {
    "2 x 2, alike": _alike(2, 2, 0.0),
    "2 x 2, nearly alike": _alike(2, 2, 0.05),
    "2 x 2, rarely not alike": np.array([[0.9, 0.02], [0.01, 0.07]]),
    "2 x 2, somewhat dependent": np.array([[0.35, 0.15], [0.2, 0.3]]),
    "2 x 2, independent": _product([0.7, 0.3], [0.4, 0.6]),
    "2 x 3, one decides the other": np.array([[0.25, 0.5, 0.0], [0.0, 0.0, 0.25]]),
    "3 x 3, alike": _alike(3, 2, 0.0),
    "3 x 3, nearly alike": _alike(3, 2, 0.04),
    "3 x 3, independent": _product([0.6, 0.3, 0.1], [0.2, 0.3, 0.5]),
    "4 x 4, nearly alike": _alike(4, 2, 0.01),
    "4 x 4, every combination as frequent": np.full((4, 4), 1 / 16),
    "2 x 2 x 2, parity": _parity(),
    "2 x 2 x 2, nearly alike": _alike(2, 3, 0.02),
    "2 x 2 x 2, independent": _product([0.7, 0.3], [0.4, 0.6], [0.8, 0.2]),
}


def coverage(truth: FloatArray, noise: dict[str, float], *, users: int, draws: int) -> tuple[float, float]:
    """Return the share of cells whose intervals of nominally 95 % hold the truth, and the mean standard error."""
    ours = estimator("em", stop="certificate", delta=0.001)
    mechanism = RRLDP(sizes=truth.shape, **noise)
    within, errors = [], []
    for seed in range(draws):
        cells = np.random.default_rng([seed, users]).choice(truth.size, size=users, p=truth.ravel())
        values = np.stack(np.unravel_index(cells, truth.shape), axis=1)
        rows = RowCounts.of(mechanism.perturb(values, entropy=SeededEntropy(seed)), bits=mechanism.bits)
        solution = ours.estimate(rows, sizes=truth.shape, supports=mechanism.supports)
        off = np.abs(solution.joint - joint_of(values, truth.shape))
        within.append(np.mean(off <= 1.96 * solution.standard_error))
        errors.append(np.mean(solution.standard_error))
    return float(np.mean(within)), float(np.mean(errors))


def main() -> None:
    """Print the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    found = {
        (name, users): [coverage(truth, noise, users=users, draws=draws) for noise in NOISES]
        for name, truth in TABLES.items()
        for users in USERS
    }
    table = Table(title="Lowest coverage over five noises, and the mean", title_justify="left")
    table.add_column("table")
    for users in USERS:
        table.add_column(f"{users:,} users", justify="right")
    table.add_column("mean", justify="right")
    for name in TABLES:
        of_name = [[held for held, _ in found[name, users]] for users in USERS]
        table.add_row(name, *(f"{min(each):.2f}" for each in of_name), f"{np.mean(of_name):.3f}")
    every = [held for of in found.values() for held, _ in of]
    console = Console(width=118)
    console.print(table)
    below = sum(each < 0.92 for each in every)
    error = np.mean([error for of in found.values() for _, error in of])
    console.print(f"lowest {min(every):.3f}, mean {np.mean(every):.3f}; {below} of {len(every)} are below 0.92")
    console.print(f"mean standard error {error:.4f}")


if __name__ == "__main__":
    main()
