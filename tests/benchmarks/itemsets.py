"""Measure frequent itemsets against SVSM as published, and against guesses from products of item frequencies.

python -m tests.benchmarks.itemsets [FILE.txt.gz ...] [--repeats 5] [--k 20]

A file has a line of items for each user; without one, a basket table is generated. SVSM as published (Wang, Li and
Jha, 2018) finds items by svim without a set size, and guesses twice as many itemsets as wanted, by the product of
frequencies as shares of the largest times 0.9. Users are asked what they hold, and never what they lack. Guesses
alone take all users for the items, and none for itemsets: each product is the estimate of its itemset.
"""

import argparse
import gzip
import heapq
import itertools
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.collection import Itemsets
from stream_ldp.sets.evaluation import itemset_metrics, run_epoch
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import svim
from stream_ldp.sets.methods.combination import most_frequent
from stream_ldp.sets.methods.itemsets import SVSM, likeliest
from stream_ldp.sets.phases import Inquiry, Method, RankingEstimate, candidates_of
from tests.sets.methods.examples import method

SIZES = (2, 3)
EPSILONS = (0.5, 1.0, 2.0, 4.0)


class AsPublished(SVSM):
    """SVSM with the published guesses and slots, for what sets hold."""

    def solve(self, *given: Any, **options: Any) -> tuple[RankingEstimate, Inquiry | None]:
        with patch.object(svim, "fewest_slots", _slots_of_held):
            return super().solve(*given, **options)

    def _guessed(self, items: RankingEstimate) -> NDArray[np.int64]:
        best = most_frequent(items, self.k)
        shares = 0.9 * best.frequency / max(best.frequency.max(), 1e-9)
        guesses = itertools.islice(likeliest(shares, sizes=self.sizes), 2 * self.itemsets)
        return candidates_of([sorted(best.items[list(places)].tolist()) for _, places in guesses])


def _slots_of_held(estimate: NDArray[np.float64], **given: Any) -> tuple[svim.Lengths, bool]:
    return svim.lengths(estimate, **given), False


def baskets(users: int = 100_000, *, items: int = 1_000, patterns: int = 200, seed: int = 1) -> ItemSets:
    """Generate baskets of a few patterns each, drawn by Zipf's law, with a fifth of their items left out.

    Agrawal and Srikant (1994) generate theirs in this way.
    """
    generator = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, patterns + 1)
    pattern = [generator.choice(items, size=1 + generator.poisson(2), replace=False) for _ in range(patterns)]
    counts = 1 + generator.poisson(2, users)
    chosen = np.split(generator.choice(patterns, counts.sum(), p=chances / chances.sum()), np.cumsum(counts)[:-1])
    return ItemSets.of(
        {
            int(item)
            for number in numbers
            for item, kept in zip(pattern[number], generator.random(len(pattern[number])) < 0.8, strict=True)
            if kept
        }
        for numbers in chosen
    )


def read(path: Path) -> ItemSets:
    with gzip.open(path, "rt") as lines:
        return ItemSets.of([int(item) for item in line.split()] for line in lines)


def methods(epsilon: float, *, k: int, domain: int) -> Iterator[tuple[str, Method]]:
    for kind in ("svim", "gfim-users"):
        items = method(kind, domain=domain, epsilon=epsilon, k=k)
        if kind == "svim":
            yield "SVSM as published", AsPublished(method=items, itemsets=k, sizes=SIZES, hash_bits=None)
            yield "guesses alone", items
        yield f"itemsets, {kind}", SVSM(method=items, itemsets=k, sizes=SIZES, hash_bits=None)


def of_products(items: RankingEstimate, *, k: int) -> RankingEstimate:
    """Estimate itemsets by the products of their items' frequencies."""
    best = most_frequent(items, len(items.items))
    guesses = heapq.nlargest(k, itertools.islice(likeliest(best.frequency, sizes=SIZES), k))
    itemsets = candidates_of([sorted(best.items[list(places)].tolist()) for _, places in guesses])
    frequency = np.array([product for product, _ in guesses])
    return RankingEstimate(items=itemsets, frequency=frequency, standard_error=np.zeros(len(frequency)))


def measured(sets: ItemSets, *, k: int, repeats: int) -> Iterator[tuple[str, float, dict[str, float]]]:
    """Iterate over methods, epsilons and the mean of each measure."""
    domain = int(sets.items.max()) + 1
    for epsilon in EPSILONS:
        for name, form in methods(epsilon, k=k, domain=domain):
            found = []
            for seed in range(repeats):
                estimate = run_epoch(form, sets, entropy=SeededEntropy(seed))
                if estimate.items.ndim == 1:
                    estimate = of_products(replace(estimate, frequency=np.clip(estimate.frequency, 0, 1)), k=k)
                asked = Itemsets(k=k, sizes=SIZES)
                found.append(itemset_metrics(estimate, sets, asked, domain=domain))
            yield name, epsilon, {key: float(np.mean([each[key] for each in found])) for key in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--k", type=int, default=20)
    options = parser.parse_args()
    tables = [(path.name.split(".")[0], read(path)) for path in options.files] or [("baskets", baskets())]
    write = sys.stdout.write
    write("| table | method | epsilon | F1 | NCR | MAE | coverage |\n|---|---|---:|---:|---:|---:|---:|\n")
    for table, sets in tables:
        for name, epsilon, mean in measured(sets, k=options.k, repeats=options.repeats):
            numbers = " | ".join(f"{mean[key]:.{digits}f}" for key, digits in DIGITS.items())
            write(f"| {table} | {name} | {epsilon:g} | {numbers} |\n")


#: Digits of each measure.
DIGITS = {"f1": 2, "ncr": 2, "mae": 3, "coverage": 2}


if __name__ == "__main__":
    main()
