"""This benchmark measures how far the errors of heavy hitters can be trusted: `python -m tests.benchmarks.coverage`.

The part of the published top 32 whose +-1.96 standard errors hold the truth, and the width: the root mean square of
the standard errors over that of the errors. Over 6 epochs (seeds 50 to 55) of the same 100,000 users with some of
4,096 items by Zipf's law: with at most 8 each; and with 1 to 267 by a power law; and with 1 to 150 by a power law, of
200 items. Methods are given the set size that nine users in ten do not exceed. Of the second and third population,
the others hold two thirds of all items. The third once more without a set size, and the second and third where a
tenth of the users are asked for it. Two minutes.
"""

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.evaluation import run_epoch
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.methods.spec import ASK
from tests.benchmarks.zipf_sets import long_tailed_sets, zipf_sets
from tests.sets.methods.examples import method

DOMAIN, FEW = 4_096, 200
K = 32
EPSILONS = (1.0, 2.0, 4.0)
SEEDS = range(50, 56)
#: The set size that nine users in ten do not exceed.
USUAL = "usual"


def coverage(
    kind: str, sets: ItemSets, *, domain: int, epsilon: float, set_size: int | str | None
) -> tuple[float, float]:
    """Part of the published top k, over all epochs, whose 95 % intervals hold the truth, and their width."""
    truth = sets.frequencies(domain)
    asked = method(kind, domain=domain, k=K, epsilon=epsilon, set_size=set_size)
    off, errors = [], []
    for seed in SEEDS:
        estimate = run_epoch(asked, sets, entropy=SeededEntropy(seed))
        off.append(np.abs(estimate.frequency[:K] - truth[estimate.items[:K]]))
        errors.append(estimate.standard_error[:K])
    held, width = np.array(off) < 1.96 * np.array(errors), np.linalg.norm(errors) / np.linalg.norm(off)
    return float(held.mean()), float(width)


def main() -> None:
    """Print a table of each population."""
    of_few, tail = long_tailed_sets(domain=FEW, max_size=150), long_tailed_sets(domain=DOMAIN)
    some, asking = ("gfim", "gfim-users", "svim"), ("gfim", "gfim-users")
    for name, domain, sets, kinds, set_size in (
        (
            "sets of at most 8",
            DOMAIN,
            zipf_sets(users=100_000, domain=DOMAIN, mean_size=4.0, max_size=8),
            METHODS,
            USUAL,
        ),
        ("sets of 1 to 267", DOMAIN, tail, METHODS, USUAL),
        ("sets of 1 to 150 of 200 items", FEW, of_few, METHODS, USUAL),
        ("the same without a set size", FEW, of_few, some, None),
        ("the same, and users are asked for sizes", FEW, of_few, asking, ASK),
        ("sets of 1 to 267, and users are asked for sizes", DOMAIN, tail, asking, ASK),
    ):
        given = int(np.quantile(sets.sizes, 0.9, method="inverted_cdf")) if set_size == USUAL else set_size
        table = Table(title=f"Top {K} within 1.96 standard errors, width: {name}", title_justify="left")
        table.add_column("method")
        for epsilon in EPSILONS:
            table.add_column(f"epsilon {epsilon:g}", justify="right")
        table.add_column("mean", justify="right")
        for kind in kinds:
            found = [coverage(kind, sets, domain=domain, epsilon=epsilon, set_size=given) for epsilon in EPSILONS]
            table.add_row(kind, *(f"{held:.2f}, {width:.1f}" for held, width in (*found, np.mean(found, axis=0))))
        Console(width=118).print(table)


if __name__ == "__main__":
    main()
