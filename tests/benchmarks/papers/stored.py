"""What was measured, kept in `results`: a file for each study, with a line for each of its rows."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.papers.study import Row

RESULTS = Path(__file__).parent / "results"


class Stored(NamedTuple):
    """A study that was measured.

    cpu_s: seconds of a processor that it took, with all that is not timed in it.
    """

    cpu_s: float
    rows: Sequence[Row]


def store(name: str, rows: Sequence[Row], *, cpu_s: float, results: Path = RESULTS) -> None:
    """Write the rows of a study; those without a metric have nothing in its place."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = ",\n".join(json.dumps([row.get(column) for column in columns]) for row in rows)
    head = f'"cpu_s": {cpu_s:.1f},\n"columns": {json.dumps(columns)}'
    results.mkdir(exist_ok=True)
    (results / f"{name}.json").write_text(f'{{{head},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")


@cache
def load(results: Path = RESULTS) -> dict[str, Stored]:
    """Read all studies that were measured, by name."""
    found = {}
    for path in sorted(results.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        rows = [
            {name: value for name, value in zip(document["columns"], row, strict=True) if value is not None}
            for row in document["rows"]
        ]
        found[path.stem] = Stored(document["cpu_s"], rows)
    return found
