"""Read what the benchmarks have measured: the JSON that their commands printed, in `results`."""

import json
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

#: How a measure is shown.
_STEPS = {"ndcg": Decimal("0.01"), "f1": Decimal("0.01"), "re": Decimal("0.001")}


@cache
def documents() -> dict[str, dict[str, Any]]:
    """The output of each command, by the name of its file."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}


@cache
def _rows() -> dict[tuple[str, str, int, float], dict[str, Any]]:
    """By data, method as tables call it, k and epsilon: the metrics."""
    found: dict[tuple[str, str, int, float], dict[str, Any]] = {}
    for name, document in documents().items():
        data = document["settings"]["data"]
        for row in document["results"]:
            varied = {"mechanism.k": 32 if "zipf" in data else 10, "mechanism.epsilon": 3} | row["varied"]
            method = f"{varied['mechanism.kind']}{' as published' if 'published' in name else ''}"
            key = (data, method, varied["mechanism.k"], varied["mechanism.epsilon"])
            # The same question is asked twice, along epsilon and along k.
            assert key not in found or found[key] == row["metrics"], key
            found[key] = row["metrics"]
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
