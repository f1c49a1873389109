"""The distance of joint distributions by the mechanisms for records at one epsilon of each attribute.

python -m tests.benchmarks.record_mechanisms draws tables of 40,000 records, in which a hidden factor of five values
decides how likely the values of each attribute are: by powers of 1, in an order that the factor draws (zipf), or by
Dirichlet's law of 0.6. With --data FILE and --of a,b, which may be repeated, it takes the attributes of a table of
yours instead. `stream-ldp evaluate` lets 20,000 users report by each mechanism, the same users, and
repeats that --repeats times, 10 by default; f of rr-ldp is that of the epsilon, without p and q. Some minutes.
"""

import argparse
import csv
import json
import math
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from stream_ldp.cli import app

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = ((6, 4), (8, 6), (16, 16))
RECORDS, FACTORS, USERS = 40_000, 5, 20_000


def mechanisms(epsilon: float) -> dict[str, str]:
    """Return the mechanisms that cost epsilon for each attribute, as a collection file writes them."""
    return {
        "rr-ldp": f"{{kind: rr-ldp, f: {2 / (1 + math.exp(epsilon / 2)):.6f}}}",
        "k-rr": f"{{kind: k-rr, epsilon: {epsilon}}}",
        "k-subset": f"{{kind: k-subset, epsilon: {epsilon}}}",
    }


def records(sizes: tuple[int, ...], family: str, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the records of a table, shape (records, attributes)."""
    factor = rng.integers(FACTORS, size=RECORDS)
    columns = []
    for size in sizes:
        rates = rng.dirichlet(np.full(size, 0.6), FACTORS)
        if family == "zipf":
            powers = 1.0 / np.arange(1, size + 1)
            rates = np.stack([rng.permutation(powers) for _ in range(FACTORS)]) / powers.sum()
        columns.append((rng.random(RECORDS)[:, None] > np.cumsum(rates, axis=1)[factor]).sum(axis=1))
    found: NDArray[np.int64] = np.minimum(np.stack(columns, axis=1), np.array(sizes) - 1)
    return found


def measured(data: Path, of: str, *, mechanism: str, repeats: int) -> dict[str, float]:
    """Return what `evaluate` measures of the joint distribution."""
    collection = f"{{mechanism: {mechanism}, attributes: [{of}]}}"
    command = ["evaluate", "--data", str(data), "--collection", collection, "--users", str(USERS), "--json"]
    done = CliRunner().invoke(app, [*command, "--repeats", str(repeats)])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["results"]
    metrics: dict[str, float] = found["metrics"]
    return metrics


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--of", action="append", default=[])
    parser.add_argument("--repeats", type=int, default=10)
    given = parser.parse_args()
    table = Table("attributes", "epsilon", *mechanisms(1.0), "standard error", "k-subset covers")
    with tempfile.TemporaryDirectory() as folder:
        subjects = [(str(of), given.data, of) for of in given.of]
        for number, sizes in enumerate(() if given.data else SIZES):
            for family in ("zipf", "dirichlet"):
                path = Path(folder, f"{family}-{number}.csv")
                names = [f"a{place}" for place in range(len(sizes))]
                with path.open("w", newline="") as file:
                    csv.writer(file).writerows([names, *records(sizes, family, np.random.default_rng(number))])
                subjects.append((f"{' x '.join(map(str, sizes))}, {family}", path, ", ".join(names)))
        for name, path, of in subjects:
            for epsilon in EPSILONS:
                found = {
                    kind: measured(path, of, mechanism=text, repeats=given.repeats)
                    for kind, text in mechanisms(epsilon).items()
                }
                error = max(each["avd_sd"] for each in found.values()) / math.sqrt(given.repeats)
                distances = [f"{each['avd']:.4f}" for each in found.values()]
                table.add_row(
                    name, f"{epsilon:g}", *distances, f"{error:.4f}", f"{found['k-subset']['coverage']:.2f}"
                )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
