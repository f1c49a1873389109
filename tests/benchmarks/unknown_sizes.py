"""This benchmark measures what it is worth to ask how large sets are: `python -m tests.benchmarks.unknown_sizes
mushroom.txt.gz connect.txt.gz --users 50000 --repeats 10`, with files of transactions whose items are counted from 1.

NDCG of so many users, mean over repeats with the same users: without a set size, by gfim-users up to epsilon 2 and
by svim as published beyond; by gfim-users which asks a tenth of the users; and by gfim-users with the size that nine
sets in ten do not exceed. Beside it is the gain of asking, with its standard error. Some minutes.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from typer import echo

from stream_ldp.cli.evaluate.known_table import TableFile
from stream_ldp.sets.evaluation import popular_sets
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.spec import ASK
from tests.benchmarks.zipf_sets import long_tailed_sets, zipf_sets
from tests.sets.methods.examples import scored

EPSILONS = (0.5, 1.0, 2.0, 4.0)


def ndcg(sets: ItemSets, *, k: int, epsilon: float, users: int, repeats: int) -> np.ndarray:
    """Measure NDCG, shape (3, repeats): without a size, asked for it, and with it."""
    known = max(int(np.quantile(sets.sizes, 0.9, method="inverted_cdf")), 1)
    alone = "gfim-users" if epsilon <= 2.0 else "svim"
    forms: tuple[dict[str, object], ...] = (
        {"kind": alone},
        {"kind": "gfim-users", "set_size": ASK},
        {"kind": "gfim-users", "set_size": known},
    )
    return np.array(
        [
            [each["ndcg"] for each in scored(sets, users=users, repeats=repeats, k=k, epsilon=epsilon, **form)]
            for form in forms
        ]
    )


def transactions(path: Path) -> ItemSets:
    """Read sets whose items are counted from 1."""
    return ItemSets.of([int(item) - 1 for item in each] for each in TableFile(path, missing=None).item_sets)


def populations(paths: list[Path]) -> Iterator[tuple[str, ItemSets, int]]:
    """Iterate over populations: their name, sets, and k."""
    for path in paths:
        yield path.name.split(".")[0], transactions(path), 10
    users, rng = 60_000, np.random.default_rng(1)
    yield "Zipf, 1 to 30 items", zipf_sets(users=users), 32
    yield "a long tail, 1 to 267", long_tailed_sets(users=users), 10
    for name, wanted, domain in (
        ("1 to 3 items", rng.integers(1, 4, users), 500),
        ("one item", np.ones(users, dtype=np.int64), 500),
        ("50 items", np.full(users, 50), 1_000),
        ("half 2 items, half 40", np.where(rng.random(users) < 0.5, 2, 40), 1_000),
    ):
        yield name, popular_sets(wanted, rng, domain=domain, exponent=1.0 if domain == 500 else 0.8), 10


def main() -> None:
    """Print a row of each population, and their means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--users", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    echo(f"| sets | {' | '.join(f'epsilon {epsilon:g}' for epsilon in EPSILONS)} |")
    echo("|---|" + "---:|" * len(EPSILONS))
    means = []
    for name, sets, k in populations(options.files):
        cells = []
        for epsilon in EPSILONS:
            found = ndcg(sets, k=k, epsilon=epsilon, users=options.users, repeats=options.repeats)
            gain = found[1] - found[0]
            error = gain.std(ddof=1) / np.sqrt(options.repeats)
            means.append(found.mean(axis=1))
            cells.append(f"{_shown(means[-1])} ({gain.mean():+.2f} ± {error:.2f})")
        echo(f"| {name} | {' | '.join(cells)} |")
    of_each = np.array(means).reshape(-1, len(EPSILONS), 3).mean(axis=0)
    echo(f"| mean | {' | '.join(map(_shown, of_each))} |")


def _shown(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


if __name__ == "__main__":
    main()
