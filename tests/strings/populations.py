"""Words of unequal frequency."""

from collections.abc import Iterator

import numpy as np

from tests.populations import ROWS, WINDOW, Setting


def settings(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield words of two to six letters, whose frequencies fall by a power of 1 to 1.4."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    for exponent, count in ((1.0, 500), (1.2, 2_000), (1.4, 500)):
        words = ["".join(rng.choice(letters, length)) for length in rng.integers(2, 7, count)]
        shares = np.arange(1, count + 1) ** -exponent
        lines = [[words[number]] for number in rng.choice(count, ROWS, p=shares / shares.sum())]
        for epsilon in (2.0, 4.0):
            for length, k in ((6, 8), (8, 16)):
                text = (
                    f"{{{WINDOW}, mechanism: {{kind: strings, epsilon: {epsilon}, k: {k}}}, "
                    f"string: {{name: word, length: {length}}}}}"
                )
                yield Setting(
                    f"words, power {exponent:g}, {k} of {length}, epsilon {epsilon:g}", text, ["word"], lines
                )
