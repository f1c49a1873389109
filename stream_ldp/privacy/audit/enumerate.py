"""Exact output distributions: every outcome of every random decision is played, with its exact probability.

Nothing is sampled, and no statement of a mechanism about itself is trusted: its own code runs once for each way in
which its decisions may turn out. A mechanism takes four kinds of decisions (`stream_ldp.mechanisms.Entropy`). That
these turn random words into outcomes with the stated probabilities is for tests of the entropy sources to show.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np

from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms import RESOLUTION

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy

    Output = TypeVar("Output", bound=Hashable)

__all__ = ["UnknownDistribution", "distribution"]

#: Most ways in which the decisions of one run may turn out; so many take half a minute.
MAX_WAYS = 2**19


class UnknownDistribution(StreamLDPError, ValueError):
    """An output distribution cannot be enumerated."""


def distribution(run: Callable[[Entropy], Output], *, only: int | None = None) -> dict[Output, Fraction]:
    """Return the exact probability of everything that `run` may return.

    run: a function of its random decisions alone.
    only: place, in every request, of the one decision that is played, while all others turn out as their first
        outcome. This enumerates the symbols of a wide report one by one. It does not find two symbols that share a
        decision: the enumeration of a small report as a whole does, and an attack.

    Raises:
        UnknownDistribution: it uses randomness in another way, or has more than `MAX_WAYS` ways to turn out.
    """
    found: dict[Output, Fraction] = {}
    todo: list[list[int]] = [[]]
    for _ in range(MAX_WAYS):
        if not todo:
            return found
        known = todo.pop()
        way = _Way(known, only=only)
        output = run(way)
        found[output] = found.get(output, Fraction(0)) + Fraction(way.numerator, way.denominator)
        # The ways that agree with this one up to a decision, and differ there, are played later.
        outcomes = known + [0] * (len(way.choices) - len(known))
        for decision in range(len(known), len(way.choices)):
            todo += [[*outcomes[:decision], other] for other in range(1, way.choices[decision])]
    raise UnknownDistribution(f"the decisions may turn out in more than {MAX_WAYS:,} ways")


class _Way:
    """An `Entropy` whose decisions turn out in one given way.

    The first decisions have the listed outcomes, and all others the first of theirs.

    choices: number of possible outcomes of each decision that was taken.
    numerator, denominator: of the probability that all of them turn out so. The fraction is not reduced, which would
        take longer than all else.
    """

    def __init__(self, outcomes: Sequence[int], *, only: int | None) -> None:
        self.choices: list[int] = []
        self.numerator = self.denominator = 1
        self._outcomes = outcomes
        self._only = only

    def below(self, thresholds: NDArray[np.integer]) -> NDArray[np.bool_]:
        """See `Entropy.below`."""
        return np.equal(self._decided(thresholds.shape, [_split(int(each)) for each in thresholds.flat]), 0)

    def integers(self, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `Entropy.integers`."""
        return self._decided(sizes.shape, [_uniform(int(each)) for each in sizes.flat])

    def shifts(self, kept: NDArray[np.integer], others: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `Entropy.shifts`."""
        kept, others = np.broadcast_arrays(kept, others)
        each = [_shift(int(threshold), int(count)) for threshold, count in zip(kept.flat, others.flat, strict=True)]
        return self._decided(kept.shape, each)

    def subsets(self, sizes: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
        """See `Entropy.subsets`."""
        every = [list(itertools.combinations(range(size), min(size, most))) for size in sizes.tolist()]
        which = self._decided(sizes.shape, [_uniform(len(subsets)) for subsets in every])
        chosen = [subsets[place] for subsets, place in zip(every, which.tolist(), strict=True)]
        members = zip(sizes.tolist(), chosen, strict=True)
        return np.array([member in subset for size, subset in members for member in range(size)], dtype=np.bool_)

    def words(self, n: int) -> NoReturn:
        """Raise UnknownDistribution: what a mechanism would make of raw words cannot be enumerated."""
        raise UnknownDistribution(f"{n} raw words are asked for, not decisions that can be enumerated")

    def _decided(self, shape: tuple[int, ...], decisions: Sequence[_Decision]) -> NDArray[np.int64]:
        if self._only is not None and self._only >= len(decisions):
            raise UnknownDistribution(f"{len(decisions)} decisions are taken, and none for symbol {self._only}")
        drawn = [
            self._next(each) if self._only in (None, place) else each[0][0] for place, each in enumerate(decisions)
        ]
        return np.array(drawn, dtype=np.int64).reshape(shape)

    def _next(self, decision: _Decision) -> int:
        if len(decision) == 1:  # certain
            return decision[0][0]
        number = len(self.choices)
        self.choices.append(len(decision))
        outcome, numerator, denominator = decision[self._outcomes[number] if number < len(self._outcomes) else 0]
        self.numerator *= numerator
        self.denominator *= denominator
        return outcome


#: The possible outcomes of one decision, with numerator and denominator of the probability of each.
_Decision = tuple[tuple[int, int, int], ...]


@lru_cache
def _split(threshold: int) -> _Decision:
    below = min(threshold, RESOLUTION)  # a broken mechanism may ask for more: every word is below
    chances = ((0, below), (1, RESOLUTION - below))
    return tuple((outcome, words, RESOLUTION) for outcome, words in chances if words)


@lru_cache
def _uniform(size: int) -> _Decision:
    return tuple((outcome, 1, size) for outcome in range(size))


@lru_cache
def _shift(kept: int, others: int) -> _Decision:
    stays = ((0, kept, RESOLUTION),) if kept else ()
    changes = tuple((1 + other, RESOLUTION - kept, RESOLUTION * others) for other in range(others))
    return stays + (changes if kept < RESOLUTION else ())
