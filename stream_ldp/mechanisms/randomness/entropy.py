"""Sources of random decisions, and the seven kinds of decisions that a mechanism may take.

Every decision is made of 32-bit words that are compared with whole numbers, so that each probability is a multiple of
2^-32 and exactly a float64: the decoder assumes exactly what the client does. A mechanism never sees a word. So the
exact output distribution of every mechanism is found by playing all outcomes of these seven decisions, with their
probabilities (`stream_ldp.audit.enumerate`).
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.randomness import lanes

#: Number of values of a random word; 1 / RESOLUTION is the resolution of every probability in the package.
RESOLUTION = 2**32

_WORD_BITS, _WORD_BYTES = 32, 4

#: Responses that are decided bit by bit rather than word by word: as many take the same time both ways.
_MANY = 2_000


class Entropy(Protocol):
    """A source of independent random decisions."""

    def below(self, thresholds: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Decide True with probability threshold / 2^32, for each threshold; bool, of the same shape.

        thresholds: integers of any shape, each 0 to 2^32.
        """
        ...

    def responses(self, states: NDArray[np.bool_], *, zero: int, one: int) -> NDArray[np.bool_]:
        """Decide True with probability one / 2^32 for each True and zero / 2^32 for each False; same shape.

        It is `below` with two thresholds, for very many decisions.

        zero, one: 0 to 2^32.
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

        Each takes one word, so that a permanent decision needs no more than one.

        kept: each 0 to 2^32.
        others: each at least 1; they share the other 2^32 - kept words out evenly.

        Raises:
            ValueError: 2^32 - kept is not a multiple of others.
        """
        ...

    def outcomes(self, ends: NDArray[np.integer]) -> NDArray[np.int64]:
        """Draw one outcome for each row, int64, shape (n,).

        Outcome j has the probability (ends[j] - ends[j - 1]) / 2^32, with 0 before the first end.

        ends: ascending from 0 to 2^32, the last of each row 2^32, shape (n, outcomes).

        Raises:
            ValueError: the last end of a row is not 2^32.
        """
        ...

    def subsets(self, sizes: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
        """Draw a uniformly random subset of each of many sets; bool for each member, shape (sum of sizes,).

        sizes: number of members of each set, shape (sets,); the result has the sets one after another.
        most: number of members of a subset, at least 1; a set that has no more is its own subset, and nothing is
            drawn.
        """
        ...

    def holding(
        self,
        own: NDArray[np.integer],
        *,
        sizes: NDArray[np.integer],
        members: NDArray[np.integer],
        kept: NDArray[np.integer],
    ) -> NDArray[np.int64]:
        """Draw sets of the numbers 0 to size - 1 that hold an own one with probability kept / 2^32; shape of `own`.

        All other members are drawn uniformly. Bit v of a set is 1 where v is a member.

        own: shape (n, columns).
        sizes, members, kept: of each column; 1 <= members < size <= 62, and 2^32 - kept is a multiple of
            size - members.
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

    def responses(self, states: NDArray[np.bool_], *, zero: int, one: int) -> NDArray[np.bool_]:
        """See `Entropy.responses`: word < threshold."""
        if zero == one:
            return self.words(states.size).reshape(states.shape) < one
        # 64 bits, since a threshold of 2^32 (certainty) does not fit a word.
        return self.below(np.where(states, np.uint64(one), np.uint64(zero)))

    def integers(self, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `Entropy.integers`: the remainder of a word.

        A word beyond the last whole multiple of the size is drawn again: the remainder of the others is uniform to
        the last digit, where that of all words would favour the small ones.
        """
        flat = np.asarray(sizes, dtype=np.int64).reshape(-1)
        if not len(flat):
            return np.zeros(np.shape(sizes), dtype=np.int64)
        least, most = int(flat.min()), int(flat.max())
        if not 1 <= least <= most <= RESOLUTION:
            raise ValueError(f"a range has 1 to 2^32 integers, got sizes from {least} to {most}")
        size: NDArray[np.int64] | int = least if least == most else flat
        words = self.words(len(flat)).astype(np.int64)
        if isinstance(size, int) and RESOLUTION % size == 0:
            return (words & (size - 1)).reshape(np.shape(sizes))
        while (again := np.flatnonzero(words >= RESOLUTION - RESOLUTION % size)).size:
            words[again] = self.words(len(again))
        # A power of two, as most sizes are, leaves the low bits.
        drawn = words & (size - 1) if not np.any(size & (size - 1)) else words % size
        return drawn.reshape(np.shape(sizes))

    def shifts(self, kept: NDArray[np.integer], others: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `Entropy.shifts`: words from `kept` on are cut into runs of equal length, one for each shift."""
        shape = np.broadcast_shapes(np.shape(kept), np.shape(others))
        kept, others = _unrepeated(kept), _unrepeated(others)
        if np.any((RESOLUTION - kept) % others):
            raise ValueError("the words that are not kept must be a multiple of the others")
        run = np.maximum((RESOLUTION - kept) // others, 1)
        # In float64, since integers divide slowly: a quotient of whole numbers below 2^33 is never rounded up to the
        # next whole one. Words that are kept have a negative quotient.
        runs = (self.words(math.prod(shape)).reshape(shape) - kept.astype(np.float64)) / run
        drawn: NDArray[np.int64] = np.maximum(np.floor(runs).astype(np.int64) + 1, 0)
        return drawn

    def outcomes(self, ends: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `Entropy.outcomes`: the first outcome that ends beyond the word."""
        if np.any(ends[:, -1] != RESOLUTION):
            raise ValueError("the last outcome ends at 2^32")
        passed: NDArray[np.int64] = (self.words(len(ends))[:, None] >= ends).sum(axis=1)
        return passed

    def subsets(self, sizes: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
        """See `Entropy.subsets`: the members with the smallest words."""
        sizes = np.asarray(sizes, dtype=np.int64)
        crowded = sizes[sizes > most]
        group = np.repeat(np.arange(len(crowded)), crowded)
        words, ordered = self._distinct_words(group)
        last = ordered[np.cumsum(crowded) - crowded + most - 1]
        chosen = np.ones(sizes.sum(), dtype=np.bool_)
        chosen[np.repeat(sizes > most, sizes)] = words <= np.repeat(last, crowded)
        return chosen

    def holding(
        self,
        own: NDArray[np.integer],
        *,
        sizes: NDArray[np.integer],
        members: NDArray[np.integer],
        kept: NDArray[np.integer],
    ) -> NDArray[np.int64]:
        """See `Entropy.holding`: a word for each number, by which they are ordered in a circle, and one that decides.

        A set is a run of neighbours, and the last word decides where it begins: below `kept`, at one of the `members`
        places from which it reaches the own number, else at one of the others. In both cases each place has as many
        words as the next, but for one word. So with every order, a set is at most e^epsilon times as likely with one
        own number as with another, however orders are drawn: equal words, which one of 10^7 orders of 30 numbers has,
        leave numbers in their place, and as many words are taken for every set.
        """
        widths = sizes + 1
        words = self.words(len(own) * int(widths.sum())).reshape(len(own), int(widths.sum()))
        drawn = np.empty(own.shape, dtype=np.int64)
        users = np.arange(len(own))[:, None]
        for place, (end, size, inside, below) in enumerate(
            zip(np.cumsum(widths).tolist(), sizes.tolist(), members.tolist(), kept.tolist(), strict=True)
        ):
            order = np.argsort(words[:, end - size - 1 : end - 1], axis=1, kind="stable")
            word = words[:, end - 1].astype(np.int64)
            run = (RESOLUTION - below) // (size - inside)
            back = np.where(word < below, word * inside // max(below, 1), inside + (word - below) // max(run, 1))
            first = np.argmax(order == own[:, [place]], axis=1) - back
            held = order[users, (first[:, None] + np.arange(inside)) % size]
            drawn[:, place] = np.left_shift(1, held).sum(axis=1)
        return drawn

    def _distinct_words(self, group: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw a word for each member, no two of a group alike; return them, and in ascending order group by group.

        A group with two equal words draws all of its words again. Otherwise the order of equal words would decide,
        which would make the members' given order a little more likely than others.

        group: that of each member, ascending.
        """
        words = self.words(len(group)).astype(np.int64)
        while True:
            # A group and a word make one number, which is sorted ten times as fast as by two keys, and four times as
            # fast again by the sort that makes use of groups being in order already.
            keys = np.sort(group << _WORD_BITS | words, kind="stable")
            again = np.unique(keys[1:][np.diff(keys) == 0] >> _WORD_BITS)
            if not len(again):
                return words, keys & (RESOLUTION - 1)
            open_ = np.isin(group, again)
            words[open_] = self.words(int(np.count_nonzero(open_)))


class StreamEntropy(WordEntropy):
    """A source with words without end, so that the bits of a word that decide nothing need not be drawn."""

    @abstractmethod
    def draw(self, n: int) -> NDArray[np.uint64]:
        """Draw `n` independent uniform integers of 64 bits, shape (n,)."""

    def responses(self, states: NDArray[np.bool_], *, zero: int, one: int) -> NDArray[np.bool_]:
        """See `Entropy.responses`: the words of many decisions are compared bit by bit, those of few at once."""
        if states.size < _MANY:
            return super().responses(states, zero=zero, one=one)
        return lanes.responses(states, zero=zero, one=one, draw=self.draw)


class OSEntropy(StreamEntropy):
    """A source of decisions that uses the operating system's random words, as clients do.

    What the system returns is used at once and never kept: a process that is forked, or a machine that is copied,
    would otherwise take the same decisions twice.
    """

    def words(self, n: int) -> NDArray[np.uint32]:
        """Draw all `n` words with one system call: a call a word would cost thirty times as much."""
        return np.frombuffer(os.urandom(_WORD_BYTES * n), dtype="<u4")

    def draw(self, n: int) -> NDArray[np.uint64]:
        """Draw all `n` integers with one system call."""
        return np.frombuffer(os.urandom(2 * _WORD_BYTES * n), dtype="<u8")


class SeededEntropy(StreamEntropy):
    """A reproducible source for simulation and tests. It is not private: the seed is enough to undo the noise."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        # A stream apart: bit by bit, noise from the stream that a population of the same seed is drawn from could
        # follow its values.
        self._lanes = np.random.PCG64(seed).jumped()

    def words(self, n: int) -> NDArray[np.uint32]:
        """Draw `n` words of the seeded stream."""
        return self._generator.integers(RESOLUTION, size=n, dtype=np.uint32)

    def draw(self, n: int) -> NDArray[np.uint64]:
        """Draw `n` integers of the seeded stream."""
        return self._lanes.random_raw(n)


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


def _unrepeated(array: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the numbers of an array, once each along the axes along which it was broadcast."""
    array = np.asarray(array)
    return array[tuple(slice(None) if stride else slice(1) for stride in array.strides)].astype(np.int64)


@lru_cache
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
    if n < 2:
        return np.arange(n)
    return np.argsort(random_words(2 * n, entropy=entropy).view("<u8"))
