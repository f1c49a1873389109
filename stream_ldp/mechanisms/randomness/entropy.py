"""Where random decisions come from, and the four kinds of them that a mechanism may take.

Every decision is made of 32-bit words that are compared with whole numbers, so that each probability is a multiple of
2^-32 and exactly a float64: what the decoder assumes is what the client did. A mechanism never sees a word. So
whoever plays all outcomes of these four decisions, with their probabilities, has the exact output distribution of
every mechanism (`stream_ldp.privacy.audit.enumerate`).
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

#: Values of a random word; 1 / RESOLUTION is the resolution of every probability in the package.
RESOLUTION = 2**32

_WORD_BYTES = 4


class Entropy(Protocol):
    """A source of independent random decisions."""

    def below(self, thresholds: NDArray[np.integer]) -> NDArray[np.bool_]:
        """True with probability threshold / 2^32, for each threshold; bool, of the same shape.

        thresholds: integers of any shape, each 0 to 2^32.
        """
        ...

    def integers(self, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
        """One uniform integer of each of the ranges 0 to size - 1, int64, of the same shape.

        sizes: integers of any shape, each 1 to 2^32.

        Raises:
            ValueError: a size is out of its range.
        """
        ...

    def shifts(self, kept: NDArray[np.integer], others: NDArray[np.integer]) -> NDArray[np.int64]:
        """0 with probability kept / 2^32, else uniformly one of 1 to others; int64, of the arguments' common shape.

        Each takes one word, so that a decision taken once and for ever needs no more than one.

        kept: each 0 to 2^32.
        others: each at least 1; they share the other 2^32 - kept words out evenly.

        Raises:
            ValueError: 2^32 - kept is not a multiple of others.
        """
        ...

    def subsets(self, sizes: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
        """Which members of each of many groups are in a uniformly random subset of it; bool, shape (sum of sizes,).

        sizes: members of each group, shape (groups,); the answer holds the groups one after another.
        most: members of a subset; of a group that has no more, all are in it and nothing is drawn.
        """
        ...


class WordEntropy(ABC):
    """Decisions made of independent uniform 32-bit words."""

    @abstractmethod
    def words(self, n: int) -> NDArray[np.uint32]:
        """The next `n` words, uint32, shape (n,)."""

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
        drawn = np.empty(len(flat), dtype=np.int64)
        open_ = np.arange(len(flat))
        while len(open_):
            words = self.words(len(open_)).astype(np.int64)
            size = flat[open_]
            taken = words < RESOLUTION - RESOLUTION % size
            drawn[open_[taken]] = words[taken] % size[taken]
            open_ = open_[~taken]
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
        """A word for each member, no two of a group alike; `group` ascends.

        A group with two equal words draws all of its words again. Otherwise the order of its members, in which equal
        words leave them, would be a little more likely than others.
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
    """Decisions made of the operating system's random words: what a client uses."""

    def words(self, n: int) -> NDArray[np.uint32]:
        """Draw all `n` words with one system call: a call a word would cost thirty times as much."""
        return np.frombuffer(os.urandom(_WORD_BYTES * n), dtype="<u4")


class SeededEntropy(WordEntropy):
    """Reproducible decisions for simulation and tests. Not private: who knows the seed can undo the noise."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def words(self, n: int) -> NDArray[np.uint32]:
        """Draw `n` words of the seeded stream."""
        return self._generator.integers(RESOLUTION, size=n, dtype=np.uint32)


class GivenWords(WordEntropy):
    """Decisions made of words that were drawn before, such as a user's permanent ones, each used once and in order.

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
    """The integer t in [0, 2^32] with P(word < t) nearest to `probability`, which is then t / 2^32 exactly."""
    return round(probability * RESOLUTION)


def random_words(n: int, *, entropy: Entropy) -> NDArray[np.uint32]:
    """`n` independent uniform 32-bit words, uint32, shape (n,)."""
    return entropy.integers(np.full(n, RESOLUTION)).astype("<u4")


def random_order(n: int, *, entropy: Entropy) -> NDArray[np.intp]:
    """The numbers 0 to n - 1 in random order, shape (n,).

    Each is placed by 64 random bits: among 2^20 numbers, two share theirs and keep their order once in 3 * 10^7
    calls.
    """
    return np.argsort(random_words(2 * n, entropy=entropy).view("<u8"))
