"""The table of what was measured, in the README of the benchmarks, made from the JSON."""

import json
import re
from pathlib import Path
from typing import Any

from tests.benchmarks.speed.goals import goal_of

_RESULTS = Path(__file__).parent / "results.json"
_README = Path(__file__).parents[1] / "README.md"

_HEAD = """\
| work | before | goal | now | beside it, and how many times as long | `--only` |
|---|---:|---:|---:|---|---|
"""

#: The table in the README, from its head on.
_TABLE = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)*")


def kept() -> dict[str, Any]:
    """Read what was measured last."""
    document: dict[str, Any] = json.loads(_RESULTS.read_text(encoding="utf-8"))
    return document


def keep(document: dict[str, Any]) -> None:
    """Write what was measured, and the table."""
    _RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    text = _README.read_text(encoding="utf-8")
    _README.write_text(_TABLE.sub(lambda _: made(document), text), encoding="utf-8")


def made(document: dict[str, Any]) -> str:
    """Make the table."""
    return _HEAD + "".join(_line(row) for row in document["rows"])


def _line(row: dict[str, Any]) -> str:
    time = row["unit"].split()[0]
    others = "; ".join(
        f"{name} {other['time']:g} {time} ({other['ratio']:g})" for name, other in row["against"].items()
    )
    goal = goal_of(row["work"])
    before, wanted = (goal.before, goal.goal) if goal else ("", "")
    cells = (row["work"], before, wanted, f"{row['now']:g} {row['unit']}", others, row["kernel"])
    return f"| {' | '.join(cells)} |\n"
