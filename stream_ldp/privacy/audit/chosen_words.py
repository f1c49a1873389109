"""The exact probabilities of a decision, found from the code that takes it: given chosen words, it shows its hand.

No sampling, and no trust in what a mechanism says of itself. A word either is compared with a threshold or decides
by its remainder, after some of the largest words may be drawn again; anything else is refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["ChosenWords", "MoreWords", "NotAThreshold", "UnknownLaw", "remainder_law", "thresholds"]

#: Distance of the words between which a threshold is then found by bisection. It is the first prime above 2^24, so
#: that a decision by some of a word's low bits is not the same at each of them.
_STEP = 16_777_259

#: Words from 0 in which a remainder shows its period; half of them is the longest that is found.
_WINDOW = 2**13

_EDGES = np.array([*range(0, RESOLUTION - 1, _STEP), RESOLUTION - 1])


class UnknownLaw(StreamLDPError, ValueError):
    """A decision that is not taken in a known way: its probabilities are not known."""


class NotAThreshold(UnknownLaw):
    """A decision that is not taken by comparing a word with one threshold."""


class MoreWords(UnknownLaw):
    """More words are asked for than are known to be needed."""


class ChosenWords:
    """An `Entropy` that gives what was chosen: for each request in turn an array, or one word for all it asks for."""

    def __init__(self, *requests: NDArray[np.integer] | int) -> None:
        self._requests = list(requests)

    def words(self, n: int) -> NDArray[np.uint32]:
        """The next request's words.

        Raises:
            MoreWords: all that was chosen has been given.
            UnknownLaw: another number of words was chosen.
        """
        if not self._requests:
            raise MoreWords(f"{n} words are asked for after all that are known to be needed")
        given = np.asarray(self._requests.pop(0)).astype(np.uint32)
        words = np.full(n, given) if given.ndim == 0 else given.reshape(-1)
        if n != len(words):
            raise UnknownLaw(f"{len(words)} decisions ask for {n} words; each needs one of its own")
        return words


def thresholds(
    decide: Callable[[NDArray[np.uint32]], NDArray[np.generic]], shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """How many words decide as word 0 does, int64, for each of many decisions.

    decide: takes one word for each decision and gives what is decided, both of this shape.

    Raises:
        NotAThreshold: a decision changes more than once as its word grows.
    """

    def at(words: NDArray[np.int64]) -> NDArray[np.generic]:
        return decide(np.broadcast_to(words, shape).astype(np.uint32))

    decisions = np.stack([at(edge) for edge in _EDGES])
    changes = decisions[1:] != decisions[:-1]
    if several := np.argwhere(changes.sum(axis=0) > 1).tolist():
        raise NotAThreshold(f"bit {several[0][-1]} of a report changes more than once as its word grows")
    first, cell = decisions[0], np.argmax(changes, axis=0)
    # The last word that is decided as the first one is, and the first that is not.
    below, above = _EDGES[cell], _EDGES[cell + 1]
    while np.any(above - below > 1):
        middle = (below + above) // 2
        as_first = at(middle) == first
        below, above = np.where(as_first, middle, below), np.where(as_first, above, middle)
    return np.where(np.any(changes, axis=0), above, RESOLUTION)


def remainder_law(decide: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> dict[int, tuple[int, Fraction]]:
    """For each outcome of a decision by the remainder of a word: the first word that decides so, and its probability.

    decide: outcomes for many words, both shape (n,), or `MoreWords` if one of them is drawn again. Of two words, the
        larger is.

    Raises:
        UnknownLaw: the outcomes do not repeat.
    """
    first = decide(np.arange(_WINDOW))
    periods = (period for period in range(1, _WINDOW // 2 + 1) if np.array_equal(first[period:], first[:-period]))
    period = next(periods, None)
    if period is None:
        raise UnknownLaw(f"what a word decides does not repeat within {_WINDOW // 2} words")
    end = _first_redrawn(decide)
    probes = np.concatenate([_EDGES[end > _EDGES], np.arange(end - period, end)])
    if not np.array_equal(decide(probes), first[probes % period]):
        raise UnknownLaw(f"what a word decides repeats every {period} words at first, but not among all")
    law: dict[int, tuple[int, Fraction]] = {}
    for remainder, outcome in enumerate(first[:period].tolist()):
        word, chance = law.get(outcome, (remainder, Fraction(0)))
        law[outcome] = word, chance + Fraction((end - remainder + period - 1) // period, end)
    return law


def _first_redrawn(decide: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> int:
    def redrawn(word: int) -> bool:
        try:
            decide(np.array([word]))
        except MoreWords:
            return True
        return False

    if not redrawn(RESOLUTION - 1):
        return RESOLUTION
    below, above = _WINDOW - 1, RESOLUTION - 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if redrawn(middle) else (middle, above)
    return above
