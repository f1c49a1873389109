"""This benchmark measures how far errors can be trusted of windows that learn from each other, on generated tables.

python -m tests.benchmarks.joint_coverage_windows takes the tables and noises of joint_coverage.py, with 1,000, 4,000
and 16,000 new users in each of 12 windows, and prints the share of cells whose +-1.96 standard errors hold the truth:
in the first window, which is alone, and in the fourth and later ones, over 16 series (seeds 0 to 15). Populations
follow that move from one table to another within 24 windows, steadily or at once, with the distance from the truth
relative to that of the windows alone. It takes some minutes.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_ldp.evaluation.distance import joint_of
from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import Recurrence, Solution, estimator
from tests.benchmarks.joint_coverage import LEAST, MOST, NOISES, TABLES, FloatArray

USERS = (1_000, 4_000, 16_000)
SERIES, WINDOWS, SCORED_FROM = 16, 12, 3
#: Tables whose marginals are alike, so that nothing but dependence moves from the first to the second.
_OPPOSITE = np.array([[0.05, 1.0], [1.0, 0.05]]) / 2.1
MOVES: dict[str, tuple[FloatArray, FloatArray]] = {
    "2 x 2, nearly alike to nearly opposite": (TABLES["2 x 2, nearly alike"], _OPPOSITE),
    "4 x 4, independent to nearly alike": (np.full((4, 4), 1 / 16), TABLES["4 x 4, nearly alike"]),
    "4 x 4, nearly alike to independent": (TABLES["4 x 4, nearly alike"], np.full((4, 4), 1 / 16)),
    "2 x 2 x 2, nearly alike to independent": (TABLES["2 x 2 x 2, nearly alike"], np.full((2, 2, 2), 1 / 8)),
    "2 x 2, independent to nearly alike, unlike marginals": (
        TABLES["2 x 2, independent"],
        TABLES["2 x 2, nearly alike"],
    ),
}
MOVING, JUMP = 24, 12


def steadily(name: str) -> list[FloatArray]:
    """Return the populations of windows that move by the same step from one to the next."""
    first, last = MOVES[name]
    return [(1 - share) * first + share * last for share in np.linspace(0.0, 1.0, MOVING)]


def at_once(name: str) -> list[FloatArray]:
    """Return the populations of windows that jump half-way."""
    first, last = MOVES[name]
    return [first] * JUMP + [last] * (MOVING - JUMP)


class Row(NamedTuple):
    """What was measured of one table, number of users and noise.

    first: share of the cells of the first window that are within their intervals.
    later: that of the windows that have learnt from others.
    ratio: root mean square standard error of these over the root mean square distance.
    to_alone: mean distance of these over that of the same windows alone.
    """

    first: float
    later: float
    ratio: float
    to_alone: float


def row(populations: Sequence[FloatArray], users: int, noise: int, *, series: int = SERIES) -> Row:
    """Measure some series of windows, one a population, with one of the noises."""
    sizes, ours = populations[0].shape, estimator("em", stop="certificate", delta=0.001)
    mechanism = RRLDP(sizes=sizes, **NOISES[noise])
    recurrence = Recurrence(returning=0.0, permanent=mechanism.permanent_share)
    covered: list[list[float]] = []
    errors, distances, far, far_alone = [], [], [], []
    for seed in range(series):
        last: Solution | None = None
        covered.append([])
        for window, population in enumerate(populations):
            rng = np.random.default_rng([seed, users, window])
            cells = rng.choice(population.size, size=users, p=population.ravel())
            values = np.stack(np.unravel_index(cells, sizes), axis=1)
            reports = mechanism.perturb(values, entropy=SeededEntropy(np.random.SeedSequence([seed, window])))
            last = ours.estimate(
                RowCounts.of(reports, bits=mechanism.bits),
                sizes=sizes,
                supports=mechanism.supports,
                past=None if last is None or last.temporal is None else last.temporal.past,
                recurrence=recurrence,
            )
            truth = joint_of(values, sizes)
            off = np.abs(last.joint - truth)
            covered[-1].append(float(np.mean(off <= 1.96 * last.standard_error)))
            if window >= SCORED_FROM and last.temporal is not None:
                errors.append(np.mean(last.standard_error**2))
                distances.append(np.mean(off**2))
                far.append(np.sum(off))
                far_alone.append(np.sum(np.abs(np.reshape(last.temporal.alone, truth.shape) - truth)))
    by_window = np.mean(covered, axis=0)
    return Row(
        first=float(by_window[0]),
        later=float(by_window[SCORED_FROM:].mean()),
        ratio=float(np.sqrt(np.mean(errors) / np.mean(distances))),
        to_alone=float(np.mean(far) / np.mean(far_alone)),
    )


def measured(populations: Mapping[str, Sequence[FloatArray]]) -> dict[tuple[str, int, int], Row]:
    """Measure populations of windows, by their names, with all numbers of users and all noises."""
    of = list(product(populations, USERS, range(len(NOISES))))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        names, users, noises = zip(*of, strict=True)
        return dict(zip(of, pool.map(row, [populations[name] for name in names], users, noises), strict=True))


def main() -> None:
    """Print the lowest rows and how many there are of each kind."""
    found = measured({name: [truth] * WINDOWS for name, truth in TABLES.items()})
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
        _print_shares(console, which, [getattr(each, which) for each in found.values()])
    for how, path in (("steadily", steadily), ("at once", at_once)):
        moved = measured({name: path(name) for name in MOVES})
        _print_moves(console, how, moved)
        _print_shares(console, f"moved {how}", [each.later for each in moved.values()])


def _print_shares(console: Console, which: str, covered: Sequence[float]) -> None:
    shares = np.array(covered)
    below, above = int((shares < LEAST).sum()), int((shares > MOST).sum())
    console.print(
        f"{which}: {below} of {len(shares)} rows below {LEAST}, {len(shares) - below - above} to {MOST}, "
        f"{above} above; lowest {shares.min():.3f}, mean {shares.mean():.3f}"
    )


def _print_moves(console: Console, how: str, found: Mapping[tuple[str, int, int], Row]) -> None:
    table = Table(title=f"Populations that move {how}: distance / alone, and coverage", title_justify="left")
    for heading in ("from and to", "mean", "largest", "coverage", "lowest"):
        table.add_column(heading, justify="left" if heading == "from and to" else "right")
    for name in MOVES:
        rows = [each for (of, _, _), each in found.items() if of == name]
        ratios, shares = [each.to_alone for each in rows], [each.later for each in rows]
        table.add_row(name, *(f"{each:.2f}" for each in (np.mean(ratios), max(ratios), np.mean(shares), min(shares))))
    console.print(table)


if __name__ == "__main__":
    main()
