"""Values by a power law or Dirichlet's, and numbers of several distributions, of which users tell one attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.benchmarks.record_mechanisms import records
from tests.populations import ROWS, WINDOW, Setting, attributes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES: tuple[tuple[int, ...], ...] = ((2, 8, 60), (4,), (200,))


def settings(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield attributes of 2 to 200 values, and numbers."""
    for place, sizes in enumerate(SIZES):
        names, attributes = attributes_of(sizes)
        for family in ("zipf", "dirichlet"):
            lines = records(sizes, family, rng).tolist()
            for epsilon in EPSILONS[place % 2 :: 2]:
                text = f"{{{WINDOW}, mechanism: {{kind: sampled, epsilon: {epsilon}}}, attributes: {attributes}}}"
                yield Setting(f"{family} {', '.join(map(str, sizes))} epsilon {epsilon:g}", text, names, lines)
    for name, numbers in (
        ("gamma", np.clip(rng.gamma(3, 12, ROWS), 0, 99)),
        ("beta(1, 6)", 100 * rng.beta(1, 6, ROWS)),
        ("uniform", 100 * rng.random(ROWS)),
        (
            "two peaks",
            np.clip(np.where(rng.random(ROWS) < 0.4, rng.normal(25, 6, ROWS), rng.normal(70, 9, ROWS)), 0, 99),
        ),
    ):
        lines = [[f"{number:.2f}"] for number in numbers]
        for epsilon in (0.5, 1.0, 4.0):
            text = (
                f"{{{WINDOW}, mechanism: {{kind: sampled, epsilon: {epsilon}}}, "
                "attributes: [{name: age, range: [0, 100]}]}"
            )
            yield Setting(f"numbers, {name}, epsilon {epsilon:g}", text, ["age"], lines)
