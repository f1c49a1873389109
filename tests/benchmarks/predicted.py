"""What `plan` predicts over what is measured of other users, for every kind, on generated tables or on yours.

python -m tests.benchmarks.predicted takes the settings of each kind, in `tests/KIND/populations.py`: collections of
several epsilons and sizes, each with a table of 40,000 users in two halves. Of 1,000, 20,000 and 100,000 users it
prints what the plan predicts by itself, what it predicts with --data and the first half, as of a survey before, and
what `evaluate` measures of users of the second half, in 10 to 100 repeats of 600,000 users in all, until it is
measured to 8 %. Last, of each kind, it prints the share of the ratios from 0.7 to 1.4, their geometric mean, and the
one furthest off; those of mean squared errors are of their roots. Numbers that are no errors, such as those of
rankings, are among them. --kind records, which may be repeated, takes some of the kinds, and --users other numbers.
With --data FILE and --of a,b, which may be repeated, it predicts joint distributions of the attributes of a table of
yours. Some minutes a kind.
"""

import argparse
import csv
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.evaluate.known_table import TableFile
from stream_ldp.collection.records import Missing
from stream_ldp.evaluation.experiment import Experiment, scores
from stream_ldp.evaluation.prediction import predictions
from stream_ldp.kinds import KINDS, kind_of, parse_collection
from stream_ldp.pipeline.kind import Kind
from tests.populations import Setting, populations_of

USERS, LEAST, MOST, ALL, PRECISION = (1_000, 20_000, 100_000), 10, 100, 600_000, 0.08
WITHIN = 0.7, 1.4


def people_of(setting: Setting, collection: Any, folder: Path) -> Any:
    """Write the users as a table, and read them as the command line does."""
    path = folder / "people.csv"
    with path.open("w", newline="") as file:
        if setting.head:
            csv.writer(file).writerows([setting.head, *setting.lines])
        else:
            file.writelines(f"{' '.join(map(str, each))}\n" for each in setting.lines)
    table = TableFile(path, missing=Missing.REFUSE)
    return table.population(collection, item_sets=kind_of(collection).evaluation.item_sets)


def measured(collection: Any, people: Any, *, users: int) -> dict[tuple[str, str], float]:
    """Measure the metrics that plans predict, by series and name."""
    evaluation = kind_of(collection).evaluation
    experiment = Experiment(
        collection=collection,
        population=people,
        users=users,
        measure=evaluation.measure,
        clock=time.perf_counter,
        taken=evaluation.taken,
    )
    done = []
    for repeat in experiment.repeats(min(MOST, max(LEAST, ALL // users)), seed=7):
        done.append(repeat)
        found = {
            (series, name): (float(score.metrics[name]), float(score.metrics[f"{name}_sd"]) / len(done) ** 0.5)
            for series, score in scores(done).items()
            for name in evaluation.predicts
            if name in score.metrics
        }
        if len(done) >= LEAST and all(error <= PRECISION * value for value, error in found.values()):
            break
    return {place: value for place, (value, _) in found.items()}


def compared(
    setting: Setting, folder: Path, *, numbers: Sequence[int]
) -> Iterator[tuple[str, str, int, float | None, float | None, float]]:
    """Yield series, metric, users, what a plan predicts alone and with a table, and what is measured."""
    collection = parse_collection(setting.text)
    evaluation = kind_of(collection).evaluation
    people = people_of(setting, collection, folder)
    before, after = np.array_split(np.arange(len(people)), 2)

    def found(population: Any = None) -> dict[tuple[str, int, str], float]:
        predicted = predictions(collection, evaluation, users=numbers, population=population)
        return {(each.series, each.users, name): value for each in predicted for name, value in each.metrics.items()}

    alone, known = found(), found(evaluation.taken(people, before))
    for users in numbers:
        for (series, name), value in measured(collection, evaluation.taken(people, after), users=users).items():
            place = series, users, name
            yield series, name, users, alone.get(place), known.get(place), value


def _shares(ratios: Sequence[float]) -> tuple[str, str, str]:
    if not ratios:
        return "none", "", ""
    least, most = WITHIN
    inside = np.mean([least <= ratio <= most for ratio in ratios])
    worst = max(ratios, key=lambda ratio: abs(np.log(ratio)))
    return f"{inside:.0%} of {len(ratios)}", f"{np.exp(np.mean(np.log(ratios))):.2f}", f"{worst:.2f}"


def _of_yours(kind: Kind[Any, Any, Any], data: Path, of: Sequence[str]) -> Iterator[Setting]:
    texts = getattr(populations_of(kind.collection), "texts", None)
    if texts is None:
        return
    with data.open(newline="") as file:
        rows = list(csv.DictReader(file))
    np.random.default_rng(0).shuffle(rows)
    for names in (each.replace(" ", "").split(",") for each in of):
        lines = [[row[name] for name in names] for row in rows]
        domains = [", ".join(f"'{value}'" for value in sorted(set(column))) for column in zip(*lines, strict=True)]
        each = [f"{{name: {name}, values: [{domain}]}}" for name, domain in zip(names, domains, strict=True)]
        for name, text in texts(f"[{', '.join(each)}]", f"[{{name: joint, of: [{', '.join(names)}]}}]"):
            yield Setting(f"{','.join(names)} {name}", text, names, lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", action="append", default=[], choices=sorted(KINDS))
    parser.add_argument("--users", type=int, action="append", default=[])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--of", action="append", default=[])
    given = parser.parse_args()
    table = Table("kind", "setting", "of", "metric", "users", "alone", "with a table", "measured")
    shares = Table(
        "kind", "alone", "mean", "worst", "with a table", "mean", "worst", "seconds of a plan, median, most"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in given.kind or KINDS:
            kind = KINDS[name]
            by_itself: list[float] = []
            with_table: list[float] = []
            seconds = []
            settings = populations_of(kind.collection).settings(np.random.default_rng(0))
            for setting in _of_yours(kind, given.data, given.of) if given.data else settings:
                numbers = given.users or USERS
                begun = time.process_time()
                predictions(parse_collection(setting.text), kind.evaluation, users=numbers)
                seconds.append(time.process_time() - begun)
                for series, metric, users, *planned, found in compared(setting, Path(folder), numbers=numbers):
                    # Of squares, the root is the error.
                    power = 0.5 if metric == "mse" else 1.0
                    for ratios, each in zip((by_itself, with_table), planned, strict=True):
                        if found and each is not None:
                            ratios.append(max(each / found, 0.01) ** power)
                    shown = ("" if each is None else f"{each:.3g}" for each in planned)
                    table.add_row(name, setting.name, series, metric, f"{users:,}", *shown, f"{found:.3g}")
            if seconds:
                spent = f"{np.median(seconds):.1f}, {max(seconds):.1f}"
                shares.add_row(name, *_shares(by_itself), *_shares(with_table), spent)
    console = Console(width=180)
    console.print(table)
    console.print(shares)


if __name__ == "__main__":
    main()
