"""This benchmark measures what it costs not to know how large sets are: `python -m tests.benchmarks.unknown_sizes
mushroom.txt.gz`.

NDCG of each method without a set size, less that of SVIM without one, which is as published: the mean over 24 repeats
of 100,000 users, with its standard error. The usual method is that of a collection file without a kind. Some minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.evaluate.known_table import TableFile
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.methods.usual import usual_kind
from tests.benchmarks.zipf_sets import long_tailed_sets, zipf_sets
from tests.sets.methods.examples import scored

USERS, REPEATS = 100_000, 24
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0)
#: The methods that may be without a set size, the one that others are compared with first.
KINDS = ("svim", *(kind for kind in METHODS if kind not in ("svim", "loloha")))


def differences(
    sets: ItemSets, *, k: int, users: int = USERS, repeats: int = REPEATS
) -> dict[tuple[str, float], str]:
    """Measure the methods, by kind and epsilon: the mean and its standard error as they are shown."""
    found = {
        (kind, epsilon): [
            each["ndcg"] for each in scored(sets, users=users, repeats=repeats, kind=kind, k=k, epsilon=epsilon)
        ]
        for kind in KINDS
        for epsilon in EPSILONS
    }
    shown = {}
    for (kind, epsilon), ndcg in found.items():
        less = np.array(ndcg) - np.array(found[KINDS[0], epsilon])
        error = less.std(ddof=1) / np.sqrt(len(less))
        shown[kind, epsilon] = f"{np.mean(ndcg):.3f}" if kind == KINDS[0] else f"{less.mean():+.3f} ± {error:.3f}"
    return shown


def transactions(path: Path) -> ItemSets:
    """Read sets whose items are counted from 1."""
    return ItemSets.of([int(item) - 1 for item in each] for each in TableFile(path, missing=None).item_sets)


def main() -> None:
    """Print a table of each population."""
    for name, sets, k in (
        ("Mushroom, k = 10", transactions(Path(sys.argv[1])), 10),
        ("Zipf, k = 32", zipf_sets(), 32),
        ("sets of 1 to 267, k = 10", long_tailed_sets(), 10),
    ):
        found = differences(sets, k=k)
        table = Table(title=f"NDCG without a set size, less that of {KINDS[0]}: {name}", title_justify="left")
        table.add_column("method")
        for epsilon in EPSILONS:
            table.add_column(f"epsilon {epsilon:g}", justify="right")
        for kind in KINDS:
            table.add_row(kind, *(found[kind, epsilon] for epsilon in EPSILONS))
        usual = ((usual_kind(epsilon), epsilon) for epsilon in EPSILONS)
        table.add_row("usual", *("0" if each[0] == KINDS[0] else found[each] for each in usual))
        Console(width=118).print(table)


if __name__ == "__main__":
    main()
