"""Where random words come from.

Every random decision compares a 32-bit word with an integer threshold, so a probability is a whole multiple of
2^-32 and exactly a float64: what the decoder assumes is what the client did.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RESOLUTION", "Entropy", "OSEntropy", "SeededEntropy", "threshold"]

#: Values of a random word; 1 / RESOLUTION is the resolution of every probability in the package.
RESOLUTION = 2**32


class Entropy(Protocol):
    """A source of independent uniform 32-bit words."""

    def words(self, n: int) -> NDArray[np.uint32]:
        """`n` words, uint32, shape (n,)."""
        ...


class OSEntropy:
    """The operating system's generator: what a client uses."""

    def words(self, n: int) -> NDArray[np.uint32]:
        """One system call for all `n` words: a call a word would cost thirty times as much."""
        return np.frombuffer(os.urandom(4 * n), dtype="<u4")


class SeededEntropy:
    """A reproducible generator for simulation and tests. Not private: who knows the seed can undo the noise."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def words(self, n: int) -> NDArray[np.uint32]:
        """`n` words of the seeded stream."""
        return self._generator.integers(RESOLUTION, size=n, dtype=np.uint32)


def threshold(probability: float) -> int:
    """The integer t in [0, 2^32] with P(word < t) nearest to `probability`, which is then t / 2^32 exactly."""
    return round(probability * RESOLUTION)
