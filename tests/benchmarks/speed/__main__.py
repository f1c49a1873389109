"""Measures every kernel side by side with its plain form, peers and limits, and prints JSON.

python -m tests.benchmarks.speed [--only KERNEL] [--smoke] [--write]

--write keeps the JSON beside this file, and makes the table in the README of the benchmarks from it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.benchmarks.speed import counting, item_sets, perturbing, solving, table
from tests.benchmarks.speed.measuring import measured

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The comparisons of each kernel, by the name under which --only finds them.
KERNELS = {
    "perturbing": perturbing.comparisons,
    "counting": counting.comparisons,
    "solving": solving.comparisons,
    "item-sets": item_sets.comparisons,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or keep what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.speed", description=__doc__)
    parser.add_argument("--only", choices=KERNELS, help="the comparisons of one kernel alone")
    parser.add_argument("--smoke", action="store_true", help="a hundredth of the work, once: does it run?")
    parser.add_argument("--write", action="store_true", help="keep the JSON, and make the table from it")
    options = parser.parse_args(arguments)
    if options.write and (options.smoke or options.only):
        parser.error("what is kept is measured whole: leave out --only and --smoke")
    document = {"machine": _machine(), "rows": _rows(options.only, smoke=options.smoke)}
    print(json.dumps(document, indent=1))  # noqa: T201
    if options.write:
        table.keep(document)


def _rows(only: str | None, *, smoke: bool) -> list[dict[str, Any]]:
    scale, rounds, least = (0.01, 1, 0.0) if smoke else (1.0, 7, 0.02)
    rows = []
    for name, comparisons in KERNELS.items():
        if only in (None, name):
            for comparison in comparisons(scale):
                rows.append({"kernel": name, **measured(comparison, rounds=rounds, least=least)})
                print(rows[-1]["work"], rows[-1]["now"], rows[-1]["unit"], file=sys.stderr)  # noqa: T201
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
