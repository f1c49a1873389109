"""What `plan` predicts of records over what `evaluate` measures, on generated tables and on tables of yours.

python -m tests.benchmarks.predicted draws tables of 40,000 records as `tests.benchmarks.record_mechanisms` does, and
prints the distance that the plan expects, the measured one of 4 repeats, and their ratio, for mechanisms and numbers
of users; last, the geometric mean of the ratios and the share of them from 0.7 to 1.4. With --data FILE and --of a,b,
which may be repeated, it takes the attributes of a table of yours instead. A few minutes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.plan import plan
from tests.benchmarks.record_mechanisms import records

MECHANISMS = (
    "{kind: rr-ldp, f: 0.25}",
    "{kind: rr-ldp, f: 0.5}",
    "{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}",
    "{kind: k-rr, epsilon: 1}",
    "{kind: k-subset, epsilon: 1}",
)
SIZES = ((3, 2), (8, 6), (6, 4, 2))
USERS, REPEATS = (1_000, 20_000), 4


def measured(data: Path, names: list[str], mechanism: str, users: int) -> float:
    """Return the mean distance that `evaluate` measures."""
    collection = f"{{mechanism: {mechanism}, attributes: [{', '.join(names)}]}}"
    given = ["--data", str(data), "--collection", collection, "--users", str(users), "--repeats", str(REPEATS)]
    done = CliRunner().invoke(app, ["evaluate", *given, "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["results"]
    return float(found["metrics"]["avd"])


def planned(sizes: tuple[int, ...], mechanism: str) -> list[float]:
    """Return the distance that `plan` expects, for each number of users."""
    values = [", ".join(f"v{number}" for number in range(size)) for size in sizes]
    attributes = ", ".join(f"{{name: a{place}, values: [{each}]}}" for place, each in enumerate(values))
    collection = JointCollection.parse(
        f"collection: c\nmechanism: {mechanism}\nwindow: {{size: 60s}}\nattributes: [{attributes}]\n"
        f"estimates: [{{name: all, of: [{', '.join(f'a{place}' for place in range(len(sizes)))}]}}]\n"
    )
    (estimate,) = plan(collection, populations=USERS).estimates
    return [error.avd or 0.0 for error in estimate.errors]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--of", action="append", default=[])
    given = parser.parse_args()
    table, ratios = Table("table", "mechanism", "users", "planned", "measured", "ratio"), []
    with tempfile.TemporaryDirectory() as folder:
        subjects: list[tuple[Path, list[str]]] = [(given.data, of.replace(" ", "").split(",")) for of in given.of]
        for number, sizes in enumerate(() if given.data else SIZES):
            for family in ("zipf", "dirichlet"):
                path = Path(folder, f"{family}-{'x'.join(map(str, sizes))}.csv")
                names = [f"a{place}" for place in range(len(sizes))]
                with path.open("w", newline="") as file:
                    csv.writer(file).writerows([names, *records(sizes, family, np.random.default_rng(number))])
                subjects.append((path, names))
        for path, names in subjects:
            sizes = known_sizes(path, names)
            for mechanism in MECHANISMS:
                for users, expected in zip(USERS, planned(sizes, mechanism), strict=True):
                    found = measured(path, names, mechanism, users)
                    ratios.append(expected / found)
                    shown = (f"{expected:.3g}", f"{found:.3g}", f"{expected / found:.2f}")
                    table.add_row(f"{path.name} {','.join(names)}", mechanism, f"{users:,}", *shown)
    console = Console(width=140)
    console.print(table)
    within = np.mean([0.7 <= ratio <= 1.4 for ratio in ratios])
    console.print(f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}; {within:.0%} from 0.7 to 1.4")


def known_sizes(path: Path, names: list[str]) -> tuple[int, ...]:
    """Return the number of values of each column of a table."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return tuple(len({row[name] for row in rows}) for name in names)


if __name__ == "__main__":
    main()
