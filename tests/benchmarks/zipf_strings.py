"""Strings with popular ones, as a table with the column word: `python -m tests.benchmarks.zipf_strings FILE.csv.gz`.

Each of 1,000,000 users has one of 2,000 strings of 6 letters, string i of 1 to 2,000 with a probability proportional
to i^-1.2. As names do, half of the strings share their beginnings: those of ten pairs of letters. A few seconds.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def zipf_words(
    *, strings: int = 2_000, length: int = 6, exponent: float = 1.2, seed: int = 0
) -> tuple[list[str], NDArray[np.float64]]:
    """Strings of lower-case letters, and the part of the users who have each."""
    return _words(np.random.default_rng(seed), strings=strings, length=length, exponent=exponent)


def _words(
    rng: np.random.Generator, *, strings: int, length: int, exponent: float
) -> tuple[list[str], NDArray[np.float64]]:
    words = rng.integers(0, len(_LETTERS), (strings, length))
    beginnings = rng.integers(0, len(_LETTERS), (10, 2))
    shared = rng.random(strings) < 0.5
    words[shared, :2] = beginnings[rng.integers(0, len(beginnings), int(shared.sum()))]
    weights = np.arange(1, strings + 1) ** -exponent
    return ["".join(word) for word in _LETTERS[words].tolist()], weights / weights.sum()


def zipf_strings(
    *, users: int = 1_000_000, strings: int = 2_000, length: int = 6, exponent: float = 1.2, seed: int = 0
) -> list[str]:
    """Strings of lower-case letters, one of each user."""
    rng = np.random.default_rng(seed)
    named, shares = _words(rng, strings=strings, length=length, exponent=exponent)
    return [named[each] for each in rng.choice(strings, users, p=shares).tolist()]


if __name__ == "__main__":
    with gzip.open(Path(sys.argv[1]), "wt", encoding="ascii", compresslevel=1) as file:
        file.write("\n".join(["word", *zipf_strings()]) + "\n")
