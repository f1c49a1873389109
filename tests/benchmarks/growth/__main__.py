"""Measures how costs grow, and prints JSON.

python -m tests.benchmarks.growth [--only WORDS] [--without-kafka] [--smoke] [--rounds N] [--write]

--write keeps the JSON beside this file, and makes docs/performance.md from it; with --only, the curves that are
measured take the place of those that were kept.
"""

import argparse
import json
import sys
from collections.abc import Sequence

from tests.benchmarks.growth import curves, page, workers
from tests.benchmarks.growth.curves import measured


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or keep what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.growth", description=__doc__)
    parser.add_argument("--only", default="", help="the curves whose size has these words in its name")
    parser.add_argument("--smoke", action="store_true", help="a hundredth of the work, once: does it run?")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    parser.add_argument("--write", action="store_true", help="keep the JSON, and make the page from it")
    parser.add_argument("--without-kafka", action="store_true", help="leave out what needs a real Kafka")
    options = parser.parse_args(arguments)
    if options.write and (options.smoke or options.without_kafka):
        parser.error("what is kept is measured whole: leave out --smoke and --without-kafka")
    scale, rounds = (0.01, 1) if options.smoke else (1.0, options.rounds)
    every = (*curves.CURVES, *(() if options.without_kafka else workers.CURVES))
    wanted = [curve for curve in every if options.only in curve.against]
    if not wanted:
        parser.error(f"no curve is named {options.only!r}: there are {', '.join(curve.against for curve in every)}")
    found = {}
    for curve in wanted:
        found[curve.against] = measured(curve, scale=scale, rounds=rounds)
        print(found[curve.against], file=sys.stderr)  # noqa: T201
    print(json.dumps({"curves": list(found.values())}, indent=1))  # noqa: T201
    if options.write:
        kept = {each["against"]: each for each in page.kept()["curves"]} | found
        page.keep({"curves": [kept[curve.against] for curve in every if curve.against in kept]})


if __name__ == "__main__":
    main()
