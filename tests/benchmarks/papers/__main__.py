"""Measure the figures of the papers, and write docs/papers.md with its plots.

python -m tests.benchmarks.papers DIRECTORY measures with nltcs.csv.gz, adult.csv.gz, mushroom.txt.gz and
connect.txt.gz of a directory; figures whose data are not there are left as they are.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.papers.figure import Figure
from tests.benchmarks.papers.page import write
from tests.benchmarks.papers.papers import PAPERS
from tests.benchmarks.papers.stored import load, store


def main(words: Sequence[str] | None = None) -> None:
    """List the figures, or measure and write them."""
    figures = {figure.name: figure for paper in PAPERS for figure in paper.figures}
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.papers", description="The papers' figures.")
    parser.add_argument("directory", nargs="?", type=Path, metavar="DIRECTORY", help="where the data are")
    parser.add_argument(
        "--only", choices=figures, metavar="FIGURE", action="append", help="measure this figure alone"
    )
    parser.add_argument("--repeats", type=int, metavar="R", help="as many repeats of each, in place of its own")
    parser.add_argument("--list", action="store_true", help="list the figures, and what each takes")
    parser.add_argument("--from-stored", action="store_true", help="only write what was measured before")
    given = parser.parse_args(words)
    if given.list:
        for each in figures.values():
            sys.stdout.write(f"{_line(each)}\n")
        return
    if given.repeats is not None and given.repeats < 1:
        parser.error("--repeats: at least 1")
    if not given.from_stored:
        if given.directory is None:
            parser.error("name the DIRECTORY of the data, or write what was measured before with --from-stored")
        if not given.directory.is_dir():
            parser.error(f"{given.directory} is no directory")
        measure([figures[name] for name in given.only or figures], given.directory, repeats=given.repeats)
    write()


def _line(figure: Figure) -> str:
    stored = load()
    taken = sum(stored[name].cpu_s for name in figure.studies if name in stored)
    return f"{figure.name:16} {figure.title} ({taken:,.0f} s)"


def measure(figures: Sequence[Figure], directory: Path, *, repeats: int | None) -> None:
    """Measure what figures are made of, each study once, and store it; say what is skipped, and why."""
    studies = {study.name: study for paper in PAPERS for study in paper.studies}
    for name in dict.fromkeys(name for figure in figures for name in figure.studies):
        reason = studies[name].missing(directory)
        if reason is not None:
            of = ", ".join(figure.name for figure in figures if name in figure.studies)
            sys.stdout.write(f"{name} ({of}) skipped: {reason}\n")
            continue
        begun = time.process_time()
        rows = studies[name].rows(directory, repeats=repeats)
        taken = time.process_time() - begun
        store(name, rows, cpu_s=taken)
        sys.stdout.write(f"{name}: {taken:,.1f} s\n")
        sys.stdout.flush()
    load.cache_clear()


if __name__ == "__main__":
    main()
