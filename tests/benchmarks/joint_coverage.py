"""This benchmark measures how far errors of joint distributions can be trusted, on generated tables.

python -m tests.benchmarks.joint_coverage prints the share of cells whose +-1.96 standard errors hold the truth, for
tables from independent to deterministic: the lowest of five noises, over 80 draws (seeds 0 to 79) or as many as an
argument says. Beside it stands what intervals would cover whose error is the root mean square of the distances in
these draws, which no estimator can know. It takes some minutes. With --held-out, tables are others, which had a part
in the choice of the form of errors only by its split by order.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from stream_ldp.evaluation.distance import joint_of
from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import estimator

FloatArray = NDArray[np.float64]

USERS = (300, 1_000, 2_700, 10_000, 50_000)
DRAWS = 80
#: Shares of the draws whose independence is rejected, up to which dependence counts as hidden, and as seen in part.
HIDDEN, PARTLY = 0.1, 0.95
#: Nominal 0.95, give or take what 80 draws of few cells may be off.
LEAST, MOST = 0.92, 0.98
NOISES: tuple[dict[str, float], ...] = (
    {"f": 0.1},
    {"f": 0.5},
    {"f": 0.9},
    {"f": 0.25, "p": 0.5, "q": 0.75},
    {"f": 0.5, "p": 0.5, "q": 0.75},
)


def _shares(joint: FloatArray) -> FloatArray:
    total: float = joint.sum()
    return joint / total


def _parity() -> FloatArray:
    """Two fair coins and whether they agree."""
    return np.where(np.indices((2, 2, 2)).sum(axis=0) % 2 == 0, 0.25, 0.0)


def _alike(size: int, attributes: int, other: float) -> FloatArray:
    """All attributes alike, but for what is `other` times as frequent as the alike."""
    joint = np.full((size,) * attributes, other)
    joint[(np.arange(size),) * attributes] = 1.0
    return _shares(joint)


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
#: Tables that had a part in the choice of the form of errors only by its split by order.
HELD_OUT: dict[str, FloatArray] = {
    "5 x 5, permuted, nearly alike": _shares(np.eye(5)[[2, 0, 4, 1, 3]] + 0.02),
    "6 x 3, one decides the other": _shares(
        (np.eye(3)[np.arange(6) % 3] + 0.005) * np.array([0.3, 0.2, 0.2, 0.15, 0.1, 0.05])[:, None]
    ),
    "8 x 8, near copies": _shares(
        (np.arange(8)[:, None] + 1.0) ** -1 * np.exp(-np.abs(np.arange(8)[:, None] - np.arange(8)))
    ),
    "4 x 4, somewhat dependent": 0.7 * _product([0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1])
    + 0.3 * np.diag([0.4, 0.3, 0.2, 0.1]),
    "4 x 3, sparse": np.random.default_rng(1).dirichlet(np.full(12, 0.2)).reshape(4, 3),
    "4 x 3 x 2, sparse": np.random.default_rng(2).dirichlet(np.full(24, 0.2)).reshape(4, 3, 2),
    "5 x 4, independent": _product([0.4, 0.3, 0.15, 0.1, 0.05], [0.1, 0.2, 0.3, 0.4]),
    "3 x 3 x 2, independent": _product([0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.6, 0.4]),
    "2 x 2 x 2, parity of unequal shares": _shares(
        np.where(_parity() > 0.0, 1.0, 0.02) * _product([0.7, 0.3], [0.6, 0.4], [0.5, 0.5])
    ),
    "2 x 2 x 2 x 2, parity": _shares(np.indices((2,) * 4).sum(axis=0) % 2),
    "3 x 3 x 3, sum modulo 3": _shares(np.indices((3,) * 3).sum(axis=0) % 3 == 0),
}
_EVERY = TABLES | HELD_OUT


class Row(NamedTuple):
    """What was measured of one table, number of users and noise.

    covered: share of the cells whose intervals of nominally 95 % hold the truth.
    ideal: the same if the standard error of a cell were the root mean square of its distances.
    error: mean standard error.
    distance: root mean square distance of a cell, mean over the cells.
    rejected: share of the draws whose independence is rejected.
    """

    covered: float
    ideal: float
    error: float
    distance: float
    rejected: float


def row(name: str, users: int, noise: int, draws: int) -> Row:
    """Measure some draws of a table with one of the noises."""
    truth, ours = _EVERY[name], estimator("em", stop="certificate", delta=0.001)
    mechanism = RRLDP(sizes=truth.shape, **NOISES[noise])
    distances, errors, rejected = [], [], 0
    for seed in range(draws):
        cells = np.random.default_rng([seed, users]).choice(truth.size, size=users, p=truth.ravel())
        values = np.stack(np.unravel_index(cells, truth.shape), axis=1)
        rows = RowCounts.of(mechanism.perturb(values, entropy=SeededEntropy(seed)), bits=mechanism.bits)
        solution = ours.estimate(rows, sizes=truth.shape, supports=mechanism.supports)
        distances.append(np.abs(solution.joint - joint_of(values, truth.shape)))
        errors.append(solution.standard_error)
        rejected += solution.independence.dependent
    off = np.array(distances)
    root_mean_square = np.sqrt(np.mean(off**2, axis=0))
    return Row(
        covered=float(np.mean(off <= 1.96 * np.array(errors))),
        ideal=float(np.mean(off <= 1.96 * root_mean_square)),
        error=float(np.mean(errors)),
        distance=float(np.mean(root_mean_square)),
        rejected=rejected / draws,
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("draws", type=int, nargs="?", default=DRAWS)
    parser.add_argument("--held-out", action="store_true")
    given = parser.parse_args()
    draws, tables = given.draws, HELD_OUT if given.held_out else TABLES
    of = list(product(tables, USERS, range(len(NOISES))))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(of, pool.map(row, *zip(*of, strict=True), [draws] * len(of)), strict=True))
    console = Console(width=118)
    lowest = Table(
        title="Lowest coverage over five noises, the mean, and error / distance where dependence is plain",
        title_justify="left",
    )
    lowest.add_column("table")
    for users in USERS:
        lowest.add_column(f"{users:,} users", justify="right")
    lowest.add_column("mean", justify="right")
    lowest.add_column("plain", justify="right")
    for name in tables:
        of_name = [[found[name, users, noise].covered for noise in range(len(NOISES))] for users in USERS]
        plain = [each for (of, _, _), each in found.items() if of == name and each.rejected >= PARTLY]
        lowest.add_row(
            name, *(f"{min(each):.2f}" for each in of_name), f"{np.mean(of_name):.3f}", _ratio(plain) if plain else ""
        )
    console.print(lowest)
    rows = Table(title="Rows by how often independence is rejected", title_justify="left")
    for column in (
        "rejected",
        "rows",
        "below",
        "within",
        "above",
        "lowest",
        "error / distance",
        "ideal within",
        "above",
    ):
        rows.add_column(column, justify="right")
    every, rarely = list(found.values()), {key: each for key, each in found.items() if each.rejected <= HIDDEN}
    for said, some in (
        ("nearly always", [each for each in every if each.rejected >= PARTLY]),
        ("sometimes", [each for each in every if HIDDEN < each.rejected < PARTLY]),
        ("rarely, dependent", [each for (name, _, _), each in rarely.items() if not _independent(name)]),
        ("rarely, independent", [each for (name, _, _), each in rarely.items() if _independent(name)]),
        ("all", every),
    ):
        rows.add_row(said, *_counts(some))
    console.print(rows)
    console.print(
        f"within is from {LEAST} to {MOST}; mean standard error {np.mean([each.error for each in every]):.4f}"
    )


def _counts(rows: Sequence[Row]) -> list[str]:
    """Describe some rows as the cells of a table."""
    covered, ideal = np.array([each.covered for each in rows]), np.array([each.ideal for each in rows])
    return [
        f"{len(rows)}",
        f"{np.sum(covered < LEAST)}",
        f"{np.sum((covered >= LEAST) & (covered <= MOST))}",
        f"{np.sum(covered > MOST)}",
        f"{covered.min():.3f}",
        _ratio(rows),
        f"{np.sum((ideal >= LEAST) & (ideal <= MOST))}",
        f"{np.sum(ideal > MOST)}",
    ]


def _ratio(rows: Sequence[Row]) -> str:
    """Describe the geometric mean of error over distance."""
    return f"{np.exp(np.mean([np.log(each.error / each.distance) for each in rows])):.2f}"


def _independent(name: str) -> bool:
    truth = _EVERY[name]
    marginals = [truth.sum(axis=tuple(i for i in range(truth.ndim) if i != j)) for j in range(truth.ndim)]
    return np.allclose(truth, reduce(np.multiply.outer, marginals))


if __name__ == "__main__":
    main()
