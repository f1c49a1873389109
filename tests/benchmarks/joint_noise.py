"""This benchmark measures what is lost where noise looks like dependence, on generated tables.

python -m tests.benchmarks.joint_noise prints, for each family of tables, the mean distance of the estimate and of the
product of its marginals, and of the ratios of single estimates how many are above 2 and above 3, and the largest.
Tables are those of `families`, 17 of each with 2, 3 and 5 attributes, for 1,000, 4,315 and 20,000 users and five
noises: 4,590 estimates. It takes two minutes. An argument is the number of the first table, for others than these.
"""

import sys
from itertools import product

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.benchmarks.families import FAMILIES
from tests.benchmarks.joint_widths import NOISES, measured

USERS, ATTRIBUTES, TABLES = (1_000, 4_315, 20_000), (2, 3, 5), 17


def main() -> None:
    """Print the table."""
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    table = Table("family", "estimates", "distance", "of the product", "above 2", "above 3", "worst")
    of = list(product(FAMILIES, ATTRIBUTES, range(first, first + TABLES), USERS, NOISES))
    every = [(each[0], measured(*each)) for each in of]
    for family in (*FAMILIES, None):
        found = [metrics for name, metrics in every if family in (name, None)]
        ours, theirs = (np.array([each[of_each] for each in found]) for of_each in ("avd", "product"))
        ratios = ours / theirs
        counts = (f"{np.count_nonzero(ratios > times)}" for times in (2, 3))
        means = (f"{ours.mean():.4f}", f"{theirs.mean():.4f}")
        table.add_row(family or "all", f"{len(found):,}", *means, *counts, f"{ratios.max():.2f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
