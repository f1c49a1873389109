"""This module reads what the benchmarks have measured: the JSON that their commands printed, in `results`."""

from __future__ import annotations

import json
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "documents", "shown"]

RESULTS = Path(__file__).parent / "results"

#: How a measure is shown.
_STEPS = {"ndcg": Decimal("0.01"), "f1": Decimal("0.01"), "re": Decimal("0.001")}


@cache
def documents() -> tuple[dict[str, Any], ...]:
    """The output of each command."""
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json")))


@cache
def _rows() -> dict[tuple[str, str, int, float], dict[str, Any]]:
    """By data, method as tables call it, k and epsilon."""
    found: dict[tuple[str, str, int, float], dict[str, Any]] = {}
    for document in documents():
        settings = document["settings"]
        for row in document["results"]:
            method = f"{row['method']} as published" if _as_published(settings) else row["method"]
            key = (settings["data"], method, row["k"], row["epsilon"])
            # The same question is asked twice, along epsilon and along k.
            assert key not in found or _measures(found[key]) == _measures(row), key
            found[key] = row
    return found


def shown(measure: str, *, data: str, method: str, k: int, epsilon: float) -> str:
    """A mean over the repeats as tables show it.

    measure: ndcg, f1, re or mse. method: with ` as published` behind it in that form.
    """
    mean = _rows()[data, method, k, epsilon][measure]
    if measure == "mse":
        return f"{mean:.1e}"
    # Of the number as it is written: 312 of 320 is 0.975, of which the float64 is a little less.
    return str(Decimal(str(mean)).quantize(_STEPS[measure], rounding=ROUND_HALF_EVEN))


def _as_published(settings: dict[str, Any]) -> bool:
    if settings["methods"] == ["svim"]:
        return settings["set_size"] is None
    return (settings["combine"], settings["hash_bits"]) == ("paper", 1)


def _measures(row: dict[str, Any]) -> dict[str, Any]:
    """All but what another run may find otherwise."""
    return {name: value for name, value in row.items() if not name.startswith("seconds")}
