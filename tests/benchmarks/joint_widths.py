"""This benchmark measures how wide errors of joint distributions are, on generated tables.

python -m tests.benchmarks.joint_widths prints, for 1,000 and 20,000 users and for each noise, the mean distance, the
share of cells of 1 % of the users that are covered, the lowest of a table, and the width: the distance that errors
let expect over the measured one. Tables are those of `families`, three of each, with 2 and with 3 attributes.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_ldp.evaluation.distance import joint_metrics, joint_of
from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import estimator
from tests.benchmarks.families import FAMILIES, generate

USERS, ATTRIBUTES, TABLES = (1_000, 20_000), (2, 3), 3
NOISES: dict[str, dict[str, float]] = {
    "f = 0.25": {"f": 0.25},
    "f = 0.5": {"f": 0.5},
    "f = 0.75": {"f": 0.75},
    "f = 0.25, both stages": {"f": 0.25, "p": 0.5, "q": 0.75},
    "f = 0.5, both stages": {"f": 0.5, "p": 0.5, "q": 0.75},
}


def measured(family: str, attributes: int, number: int, users: int, noise: str) -> dict[str, float]:
    """Measure one table."""
    rng = np.random.default_rng([list(FAMILIES).index(family), attributes, number])
    truth = generate(family, attributes, rng)
    people = np.stack(np.unravel_index(rng.choice(truth.size, users, p=truth.ravel()), truth.shape), axis=1)
    mechanism = RRLDP(sizes=truth.shape, **NOISES[noise])
    rows = RowCounts.of(mechanism.perturb(people, entropy=SeededEntropy(number)), bits=mechanism.bits)
    found = estimator("em", stop="certificate", delta=0.001).estimate(
        rows, sizes=truth.shape, supports=mechanism.supports
    )
    return joint_metrics(found.joint, found.standard_error, joint_of(people, truth.shape))


def main() -> None:
    """Print the table."""
    table = Table("users", "noise", "distance", "covered", "lowest", "width", "largest")
    for users, noise in product(USERS, NOISES):
        found = [
            measured(family, attributes, number, users, noise)
            for family, attributes, number in product(FAMILIES, ATTRIBUTES, range(TABLES))
        ]
        avd, covered, width = ([each[name] for each in found] for name in ("avd", "coverage", "width"))
        numbers = (np.mean(avd), np.mean(covered), min(covered), np.mean(width), max(width))
        table.add_row(f"{users:,}", noise, *(f"{number:.3f}" for number in numbers))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
