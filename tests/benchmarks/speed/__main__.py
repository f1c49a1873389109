"""Measures every kernel, and prints JSON.

python -m tests.benchmarks.speed [--only WORD] [--smoke]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys

import numpy as np

from tests.benchmarks.speed import counting, item_sets, perturbing, solving
from tests.benchmarks.speed.measuring import measured

#: The comparisons of each kernel, by the name under which --only finds them.
KERNELS = {
    "perturbing": perturbing.comparisons,
    "counting": counting.comparisons,
    "solving": solving.comparisons,
    "item-sets": item_sets.comparisons,
}


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.speed", description=__doc__)
    parser.add_argument("--only", choices=KERNELS, help="the comparisons of one kernel alone")
    parser.add_argument("--smoke", action="store_true", help="a hundredth of the work, once: does it run?")
    options = parser.parse_args()
    scale, rounds, least = (0.01, 1, 0.0) if options.smoke else (1.0, 7, 0.02)
    rows = []
    for name, comparisons in KERNELS.items():
        if options.only in (None, name):
            for comparison in comparisons(scale):
                rows.append({"kernel": name, **measured(comparison, rounds=rounds, least=least)})
                print(json.dumps(rows[-1]), file=sys.stderr)  # noqa: T201
    print(json.dumps({"machine": _machine(), "rows": rows}, indent=1))  # noqa: T201


def _machine() -> dict[str, str | int | None]:
    return {
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


if __name__ == "__main__":
    main()
