"""Users who hold some of a few keys, with numbers of beta distributions."""

from collections.abc import Iterator

import numpy as np

from tests.populations import ROWS, WINDOW, Setting


def settings(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield keys that 5 % to 60 % of the users hold; each sends as many slots as nine of ten users hold keys."""
    for count, most in ((4, 0.6), (8, 0.4), (24, 0.3)):
        held = rng.random((ROWS, count)) < np.linspace(most, 0.05, count)
        padding = int(np.quantile(held.sum(axis=1), 0.9, method="inverted_cdf"))
        numbers = rng.beta(2, 4, (ROWS, count))
        lines = [
            [f"{number:.3f}" if has else "" for has, number in zip(*row, strict=True)]
            for row in zip(held, numbers, strict=True)
        ]
        keys = [f"k{number}" for number in range(count)]
        for epsilon in (0.5, 1.0, 4.0):
            mechanism = f"{{kind: pairs, epsilon: {epsilon}, padding: {padding}}}"
            text = f"{{{WINDOW}, mechanism: {mechanism}, keys: {{names: [{', '.join(keys)}], range: [0, 1]}}}}"
            yield Setting(f"{count} keys, padding {padding}, epsilon {epsilon:g}", text, keys, lines)
