"""Records whose values depend on each other by a hidden factor, and pairs of numbers, of which users tell a view."""

from collections.abc import Iterator

import numpy as np

from tests.benchmarks.record_mechanisms import records
from tests.populations import ROWS, WINDOW, Setting, attributes_of

SIZES: tuple[tuple[int, ...], ...] = ((2,) * 8, (8, 6, 4, 2), (5, 3, 3, 2, 2, 2))
EPSILONS = (0.5, 1.0, 4.0)


def texts(attributes: str, estimates: str) -> Iterator[tuple[str, str]]:
    """Yield a collection of each epsilon."""
    for epsilon in EPSILONS:
        mechanism = f"{{kind: sampled, ask: auto, epsilon: {epsilon}}}"
        yield (
            f"epsilon {epsilon:g}",
            f"{{{WINDOW}, mechanism: {mechanism}, attributes: {attributes}, estimates: {estimates}}}",
        )


def settings(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield records of four to eight attributes, and two numbers."""
    for sizes in SIZES:
        names, attributes = attributes_of(sizes)
        for family in ("zipf", "dirichlet"):
            lines = records(sizes, family, rng).tolist()
            for name, text in texts(attributes, "[{name: two, of: [a0, a1]}, {name: three, of: [a0, a2, a3]}]"):
                yield Setting(f"{family} {'x'.join(map(str, sizes))} {name}", text, names, lines)
    attributes = "[{name: x, range: [0, 1]}, {name: y, range: [0, 1]}]"
    for correlation in (0.0, 0.6):
        drawn = rng.multivariate_normal([0.4, 0.3], [[0.03, 0.03 * correlation], [0.03 * correlation, 0.03]], ROWS)
        lines = [[f"{x:.4f}", f"{y:.4f}"] for x, y in np.clip(drawn, 0.0, 1.0)]
        for name, text in texts(attributes, "[{name: both, of: [x, y]}]"):
            yield Setting(f"numbers, correlation {correlation:g}, {name}", text, ["x", "y"], lines)
