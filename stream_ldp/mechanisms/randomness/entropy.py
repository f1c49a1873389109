"""Sources of random decisions, and the four kinds of decisions that a mechanism may take.

Every decision is made of 32-bit words that are compared with whole numbers, so that each probability is a multiple of
2^-32 and exactly a float64: the decoder assumes exactly what the client does. A mechanism never sees a word. So the
exact output distribution of every mechanism is found by playing all outcomes of these four decisions, with their
probabilities (`stream_ldp.privacy.audit.enumerate`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "RESOLUTION",
    "Entropy",
    "GivenWords",
    "OSEntropy",
    "SeededEntropy",
    "WordEntropy",
    "random_order",
    "random_words",
    "threshold",
]

#: Number of values of a random word; 1 / RESOLUTION is the resolution of every probability in the package.
RESOLUTION = 2**32

_WORD_BYTES = 4


class Entropy(Protocol):
    """A source of independent random decisions."""

    def below(self, thresholds: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Decide True with probability threshold / 2^32, for each threshold; bool, of the same shape.

        thresholds: integers of any shape, each 0 to 2^32.
        """
        ...

    def integers(self, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Draw one uniform integer from each of the ranges 0 to size - 1, int64, of the same shape.

        sizes: integers of any shape, each 1 to 2^32.

        Raises:
            ValueError: a size is out of its range.
        """
        ...

    def shifts(self, kept: NDArray[np.integer], others: NDArray[np.integer]) -> NDArray[np.int64]:
        """Draw 0 with probability kept / 2^32, else one of 1 to others uniformly; int64, of the common shape.

        Each takes one word, so that a decision taken once and for ever needs no more than one.

        kept: each 0 to 2^32.
        others: each at least 1; they share the other 2^32 - kept words out evenly.

        Raises:
            ValueError: 2^32 - kept is not a multiple of others.
        """
        ...

    def subsets(self, sizes: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
        """Draw a uniformly random subset of each of many sets; bool for each member, shape (sum of sizes,).

        sizes: number of members of each set, shape (sets,); the result has the sets one after another.
        most: number of members of a subset; a set that has no more is its own subset, and nothing is drawn.
        """
        ...


class WordEntropy(ABC):
    """A source of decisions that makes them of independent uniform 32-bit words."""

    @abstractmethod
    def words(self, n: int) -> NDArray[np.uint32]:
        """Draw the next `n` words, uint32, shape (n,)."""

    def below(self, thresholds: NDArray[np.integer]) -> NDArray[np.bool_]:
        """See `Entropy.below`: word < threshold."""
        return self.words(thresholds.size).reshape(thresholds.shape) < thresholds

    def integers(self, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `Entropy.integers`: the remainder of a word.

        A word beyond the last whole multiple of the size is drawn again: the remainder of the others is uniform to
        the last digit, where that of all words would favour the small ones.
        """
        flat = np.asarray(sizes, dtype=np.int64).reshape(-1)
        if np.any((flat < 1) | (flat > RESOLUTION)):
            raise ValueError(f"a range has 1 to 2^32 integers, got sizes from {flat.min()} to {flat.max()}")
        words = self.words(len(flat)).astype(np.int64)
        drawn = words % flat
        open_ = np.flatnonzero(words >= RESOLUTION - RESOLUTION % flat)
        while len(open_):
            words, size = self.words(len(open_)).astype(np.int64), flat[open_]
            drawn[open_] = words % size
            open_ = open_[words >= RESOLUTION - RESOLUTION % size]
        return drawn.reshape(np.shape(sizes))

    def shifts(self, kept: NDArray[np.integer], others: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `Entropy.shifts`: words from `kept` on are cut into runs of equal length, one for each shift."""
        kept, others = np.broadcast_arrays(np.asarray(kept, dtype=np.int64), np.asarray(others, dtype=np.int64))
        if np.any((RESOLUTION - kept) % others):
            raise ValueError("the words that are not kept must be a multiple of the others")
        beyond = self.words(kept.size).reshape(kept.shape).astype(np.int64) - kept
        run = np.maximum((RESOLUTION - kept) // others, 1)
        return np.where(beyond < 0, 0, 1 + beyond // run)

    def subsets(self, sizes: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
        """See `Entropy.subsets`: the members with the smallest words."""
        sizes = np.asarray(sizes, dtype=np.int64)
        crowded = np.repeat(sizes > most, sizes)
        group = np.repeat(np.arange(len(sizes)), sizes)[crowded]
        order = np.lexsort((self._distinct_words(group), group))
        place = np.arange(len(group)) - np.searchsorted(group, group)
        chosen = ~crowded
        chosen[np.flatnonzero(crowded)[order[place < most]]] = True
        return chosen

    def _distinct_words(self, group: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Draw a word for each member, no two of a group alike; `group` ascends.

        A group with two equal words draws all of its words again. Otherwise the sort would leave the two members in
        their given order, which would make that order a little more likely than others.
        """
        words = np.empty(len(group), dtype=np.uint32)
        open_ = np.ones(len(group), dtype=np.bool_)
        while open_.any():
            words[open_] = self.words(int(np.count_nonzero(open_)))
            order = np.lexsort((words, group))
            again = (np.diff(words[order]) == 0) & (np.diff(group[order]) == 0)
            open_ = np.isin(group, group[order][1:][again])
        return words


class OSEntropy(WordEntropy):
    """A source of decisions that uses the operating system's random words, as clients do."""

    def words(self, n: int) -> NDArray[np.uint32]:
        """Draw all `n` words with one system call: a call a word would cost thirty times as much."""
        return np.frombuffer(os.urandom(_WORD_BYTES * n), dtype="<u4")


class SeededEntropy(WordEntropy):
    """A reproducible source for simulation and tests. It is not private: the seed is enough to undo the noise."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def words(self, n: int) -> NDArray[np.uint32]:
        """Draw `n` words of the seeded stream."""
        return self._generator.integers(RESOLUTION, size=n, dtype=np.uint32)


class GivenWords(WordEntropy):
    """A source that uses given words, such as a user's permanent ones, each of them once and in order.

    Raises (from every decision):
        ValueError: no words are left for it.
    """

    def __init__(self, words: NDArray[np.uint32]) -> None:
        self._words = np.asarray(words, dtype=np.uint32).reshape(-1)
        self._used = 0

    def words(self, n: int) -> NDArray[np.uint32]:
        """Take the next `n` of the given words."""
        taken = self._words[self._used : self._used + n]
        if len(taken) < n:
            raise ValueError(f"{n} words are needed, {len(taken)} of the given {len(self._words)} are left")
        self._used += n
        return taken


def threshold(probability: float) -> int:
    """Return the integer t in [0, 2^32] for which P(word < t) = t / 2^32 is nearest to `probability`."""
    return round(probability * RESOLUTION)


def random_words(n: int, *, entropy: Entropy) -> NDArray[np.uint32]:
    """Draw `n` independent uniform 32-bit words, uint32, shape (n,)."""
    return entropy.integers(np.full(n, RESOLUTION)).astype("<u4")


def random_order(n: int, *, entropy: Entropy) -> NDArray[np.intp]:
    """Draw a random order of the numbers 0 to n - 1, shape (n,).

    Numbers are sorted by 64 random bits each. Two of 2^20 numbers share theirs, and keep their order, once in
    3 * 10^7 calls.
    """
    return np.argsort(random_words(2 * n, entropy=entropy).view("<u8"))
