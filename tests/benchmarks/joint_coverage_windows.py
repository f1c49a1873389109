"""This benchmark measures how far errors can be trusted of windows that learn from each other, on generated tables.

python -m tests.benchmarks.joint_coverage_windows takes the tables and noises of joint_coverage.py, with 1,000, 4,000
and 16,000 new users in each of 12 windows, and prints the share of cells whose +-1.96 standard errors hold the truth:
in the first window, which is alone, and in the fourth and later ones, over 16 series (seeds 0 to 15). It takes some
minutes.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import Recurrence, Solution, estimator
from stream_ldp.records.evaluation import joint_of
from tests.benchmarks.joint_coverage import LEAST, MOST, NOISES, TABLES

__all__ = ["Row", "row"]

USERS = (1_000, 4_000, 16_000)
SERIES, WINDOWS, SCORED_FROM = 16, 12, 3


class Row(NamedTuple):
    """What was measured of one table, number of users and noise.

    first: share of the cells of the first window that are within their intervals.
    later: that of the windows that have learnt from others.
    ratio: root mean square standard error of these over the root mean square distance.
    """

    first: float
    later: float
    ratio: float


def row(name: str, users: int, noise: int, *, series: int = SERIES, windows: int = WINDOWS) -> Row:
    """Measure some series of windows of a table with one of the noises."""
    truth, ours = TABLES[name], estimator("em", stop="certificate", delta=0.001)
    mechanism = RRLDP(sizes=truth.shape, **NOISES[noise])
    recurrence = Recurrence(returning=0.0, permanent=mechanism.permanent_share)
    covered: list[list[float]] = []
    errors, distances = [], []
    for seed in range(series):
        last: Solution | None = None
        covered.append([])
        for window in range(windows):
            rng = np.random.default_rng([seed, users, window])
            cells = rng.choice(truth.size, size=users, p=truth.ravel())
            values = np.stack(np.unravel_index(cells, truth.shape), axis=1)
            reports = mechanism.perturb(values, entropy=SeededEntropy(np.random.SeedSequence([seed, window])))
            last = ours.estimate(
                RowCounts.of(reports, bits=mechanism.bits),
                sizes=truth.shape,
                supports=mechanism.supports,
                past=None if last is None or last.temporal is None else last.temporal.past,
                recurrence=recurrence,
            )
            off = np.abs(last.joint - joint_of(values, truth.shape))
            covered[-1].append(float(np.mean(off <= 1.96 * last.standard_error)))
            if window >= SCORED_FROM:
                errors.append(np.mean(last.standard_error**2))
                distances.append(np.mean(off**2))
    by_window = np.mean(covered, axis=0)
    return Row(
        first=float(by_window[0]),
        later=float(by_window[SCORED_FROM:].mean()),
        ratio=float(np.sqrt(np.mean(errors) / np.mean(distances))),
    )


def main() -> None:
    """Print the lowest rows and how many there are of each kind."""
    of = list(product(TABLES, USERS, range(len(NOISES))))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(of, pool.map(row, *zip(*of, strict=True)), strict=True))
    console = Console(width=118)
    lowest = Table(title="Lowest coverage of later windows over five noises", title_justify="left")
    for heading in ("table", *(f"{users:,} users" for users in USERS), "mean", "error / distance"):
        lowest.add_column(heading, justify="left" if heading == "table" else "right")
    for name in TABLES:
        rows = {users: [found[name, users, noise] for noise in range(len(NOISES))] for users in USERS}
        every = [each for of_users in rows.values() for each in of_users]
        lowest.add_row(
            name,
            *(f"{min(each.later for each in of_users):.2f}" for of_users in rows.values()),
            f"{np.mean([each.later for each in every]):.3f}",
            f"{np.median([each.ratio for each in every]):.2f}",
        )
    console.print(lowest)
    for which in ("first", "later"):
        shares = np.array([getattr(each, which) for each in found.values()])
        below, above = int((shares < LEAST).sum()), int((shares > MOST).sum())
        console.print(
            f"{which}: {below} of {len(shares)} rows below {LEAST}, {len(shares) - below - above} to {MOST}, "
            f"{above} above; lowest {shares.min():.3f}, mean {shares.mean():.3f}"
        )


if __name__ == "__main__":
    main()
