"""Compare the times that `plan` says solves take with those that they take, over a grid of sizes.

python -m tests.benchmarks.solve_times

Each collection is solved for a population that `plan` does not know. A ratio is the time said over the time taken, by
the processor's time; it should be between 0.5 and 2.
"""

import argparse
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.timing import measured, solve_times
from stream_ldp.kinds import kind_of, solve
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from tests.benchmarks.speed.counting import document_of
from tests.records.estimators.examples import latent

#: Sizes of the attributes of the widest estimate, of 4 to 4,096 cells.
SIZES = ((2, 2), (4, 4), (8, 8), (2,) * 8, (8, 8, 8), (16, 16, 4), (16, 16, 16))
REPORTS = (10_000, 100_000, 1_000_000)


def collection_of(sizes: tuple[int, ...], *, pairs: bool) -> JointCollection:
    """Make a collection with an estimate of all attributes, or one of each pair."""
    document = document_of(sizes)
    together = list(itertools.combinations(range(len(sizes)), 2)) if pairs else [tuple(range(len(sizes)))]
    document["estimates"] = [
        {"name": f"e{number}", "of": [f"a{place}" for place in places]} for number, places in enumerate(together)
    ]
    return JointCollection.model_validate(document)


def taken(collection: JointCollection, *, reports: int, seed: int) -> tuple[float, float]:
    """Return the seconds of all solves of a first window, and of the one after it."""
    mechanism, sizes = collection.mechanism, collection.sizes
    joint = latent(sizes, seed=seed)
    rng = np.random.default_rng(seed)
    first_s = later_s = 0.0
    windows = []
    for number in range(2):
        cells = rng.choice(joint.size, size=reports, p=joint.ravel())
        values = np.stack(np.unravel_index(cells, sizes), axis=1)
        windows.append(mechanism.perturb(values, entropy=SeededEntropy(100 * seed + number)))
    for spec in collection.estimates:
        before: Estimate | None = None
        for number, rows in enumerate(windows):
            columns = collection.bits_of(spec.of)
            bits = np.unpackbits(rows, axis=1, bitorder="little")[:, list(columns)]
            counts = RowCounts.of(np.packbits(bits, axis=1, bitorder="little"), bits=len(columns))
            task: WindowTask[Any, Any] = WindowTask(
                series=spec,
                window_ms=number * collection.window.size_ms,
                final=True,
                windows=((1.0, (counts,)),),
                before=before,
            )
            answers: list[Any] = []
            seconds = measured(lambda task=task, answers=answers: answers.append(solve(collection, task)))  # type: ignore[misc]
            (before,) = answers
            if number:
                later_s += seconds
            else:
                first_s += seconds
    return first_s, later_s


def ratios(sizes: tuple[int, ...], *, reports: int, pairs: bool, seed: int) -> tuple[float, float, float, float]:
    """Return the seconds said over those taken, for the first window and for a later one, and those taken."""
    collection = collection_of(sizes, pairs=pairs)
    assert kind_of(collection).solve_times is not None
    times = solve_times(collection, populations=[reports])
    first_s, later_s = taken(collection, reports=reports, seed=seed)
    return (
        sum(each.first_s for each in times) / first_s,
        sum(each.later_s for each in times) / later_s,
        first_s,
        later_s,
    )


def _grid(most_row_cells: float) -> Iterator[tuple[tuple[int, ...], bool, int]]:
    for sizes, reports in itertools.product(SIZES, REPORTS):
        for pairs in (False, True) if len(sizes) == 8 else (False,):
            if reports * math.prod(sizes) <= most_row_cells or pairs:
                yield sizes, pairs, reports


def main() -> None:
    """Measure what the command line asks for."""
    arguments = argparse.ArgumentParser(prog="python -m tests.benchmarks.solve_times", description=__doc__)
    arguments.add_argument("--seed", type=int, default=1, help="of the populations")
    arguments.add_argument(
        "--most", type=float, default=math.inf, help="reports times cells, to leave out the longest"
    )
    given = arguments.parse_args()
    console = Console(highlight=False, width=100)
    table = Table(
        "cells", "estimates", "reports", "first: s", "said / taken", "later: s", "said / taken", box=box.SIMPLE
    )
    found = []
    for sizes, pairs, reports in _grid(given.most):
        first, later, first_s, later_s = ratios(sizes, reports=reports, pairs=pairs, seed=given.seed)
        found += [first, later]
        number = math.comb(len(sizes), 2) if pairs else 1
        table.add_row(
            *(" x ".join(map(str, sizes)), f"{number}", f"{reports:,}"),
            *(f"{first_s:.3g}", f"{first:.2f}", f"{later_s:.3g}", f"{later:.2f}"),
        )
    console.print(table)
    within = sum(0.5 <= each <= 2 for each in found)
    console.print(f"{within} of {len(found)} within 0.5 to 2; the least {min(found):.2f}, the most {max(found):.2f}")


if __name__ == "__main__":
    main()
