"""Measures every kernel side by side with its plain form, peers and limits, and prints JSON.

python -m tests.benchmarks.speed [--only KERNEL] [--without-kafka] [--smoke] [--rounds N] [--write]

--write keeps the JSON beside this file, and makes the table in the README of the benchmarks from it; with --only, the
rows of that kernel take the place of those that were kept.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from tests.benchmarks.speed import counting, draining, item_sets, latency, ledgers, perturbing, solving, table
from tests.benchmarks.speed.measuring import measured

#: The comparisons of each kernel, by the name under which --only finds them.
KERNELS = {
    "perturbing": perturbing.comparisons,
    "ledgers": ledgers.comparisons,
    "counting": counting.comparisons,
    "solving": solving.comparisons,
    "item-sets": item_sets.comparisons,
}

#: The rows of whole processes on a real Kafka.
ON_KAFKA = {
    "draining": draining.rows,
    "latency": latency.rows,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or keep what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.speed", description=__doc__)
    parser.add_argument("--only", choices=[*KERNELS, *ON_KAFKA], help="the comparisons of one kernel alone")
    parser.add_argument("--without-kafka", action="store_true", help="leave out what needs a real Kafka")
    parser.add_argument("--smoke", action="store_true", help="a hundredth of the work, once: does it run?")
    parser.add_argument("--rounds", type=int, default=7, help="how often each is measured")
    parser.add_argument("--write", action="store_true", help="keep the JSON, and make the table from it")
    options = parser.parse_args(arguments)
    if options.write and (options.smoke or options.without_kafka):
        parser.error("what is kept is measured whole: leave out --smoke and --without-kafka")
    wanted = [options.only] if options.only else [*KERNELS, *(() if options.without_kafka else ON_KAFKA)]
    document = {"machine": _machine(), "rows": _rows(wanted, smoke=options.smoke, rounds=options.rounds)}
    print(json.dumps(document, indent=1))  # noqa: T201
    if options.write:
        others = [row for row in table.kept()["rows"] if row["kernel"] not in wanted]
        order = [*KERNELS, *ON_KAFKA]
        rows = sorted([*others, *document["rows"]], key=lambda row: order.index(row["kernel"]))
        table.keep({**document, "rows": rows})


def _rows(wanted: Sequence[str], *, smoke: bool, rounds: int) -> list[dict[str, Any]]:
    scale, rounds, least = (0.01, 1, 0.0) if smoke else (1.0, rounds, 0.02)
    rows = []
    for name in wanted:
        kernels = (
            measured(each, rounds=rounds, least=least) for each in (KERNELS[name](scale) if name in KERNELS else ())
        )
        processes = ON_KAFKA[name](scale, rounds) if name in ON_KAFKA else ()
        for row in chain(kernels, processes):
            rows.append({"kernel": name, **row})
            print(row["work"], row["now"], row["unit"], file=sys.stderr)  # noqa: T201
    return rows


def _machine() -> dict[str, str | int | None]:
    return {
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


if __name__ == "__main__":
    main()
