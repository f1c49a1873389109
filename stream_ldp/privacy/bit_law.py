"""The exact probabilities of one bit of an RR-LDP report: those that are stated, and those that the code realises.

Every random decision compares a word with a threshold. Given chosen words, the code shows where its threshold lies,
to the last of 32 bits: no sampling, and no trust in what the mechanism says of itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms.entropy import RESOLUTION

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import RRLDP

__all__ = ["BitLaw", "NotAThreshold", "realised_laws", "stated_law"]

#: Distance of the words between which a threshold is then found by bisection. It is the first prime above 2^24, so
#: that a decision by some of a word's low bits is not the same at each of them.
_STEP = 16_777_259


class NotAThreshold(ValueError):
    """A bit that is not decided by comparing its word with one threshold: its probability is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BitLaw:
    """The two stages of one bit.

    permanent: P(permanent bit is 1 | true bit), for a true 0 and for a true 1.
    response: P(sent bit is 1 | permanent bit), for a permanent 0 and for a permanent 1.
    """

    permanent: tuple[Fraction, Fraction]
    response: tuple[Fraction, Fraction]

    @property
    def for_ever(self) -> BitLaw:
        """The law of the permanent bit itself, which is what infinitely many reports tell."""
        return BitLaw(permanent=self.permanent, response=(Fraction(0), Fraction(1)))


def stated_law(mechanism: RRLDP) -> BitLaw:
    """The law of every bit as the mechanism states it to the decoder."""
    flip, p, q = (Fraction(threshold, RESOLUTION) for threshold in mechanism.thresholds)
    return BitLaw(permanent=(flip, 1 - flip), response=(p, q))


def realised_laws(mechanism: RRLDP) -> tuple[tuple[BitLaw, ...], ...]:
    """The law of each bit of each attribute, as the code of `permanent` and `instantaneous` realises it.

    It is found from one bit's own word at a time. That two bits do not share a word is for an attack to find out.

    Raises:
        NotAThreshold: a decision changes more than once as its word grows.
    """
    sizes = np.array(mechanism.sizes)
    # Row v holds value v of every attribute, or its last one: each bit is set in one row, and clear in another.
    values = np.minimum(np.arange(sizes.max())[:, None], sizes - 1)
    set_in = np.concatenate([np.arange(size) for size in sizes])
    rows, columns = np.stack([np.where(set_in == 0, 1, 0), set_in]), np.arange(mechanism.bits)

    def permanent(words: NDArray[np.uint32]) -> NDArray[np.bool_]:
        given = np.zeros((len(values), mechanism.bits), dtype=np.uint32)
        given[rows, columns] = words
        answers: NDArray[np.bool_] = mechanism.permanent(values, given)[rows, columns]
        return answers

    def response(words: NDArray[np.uint32]) -> NDArray[np.bool_]:
        clear_and_set = np.repeat([[False], [True]], mechanism.bits, axis=1)
        return mechanism.instantaneous(clear_and_set, _Given(words))

    laws = [
        BitLaw(permanent=permanent_one, response=response_one)
        for permanent_one, response_one in zip(_chances(permanent, columns), _chances(response, columns), strict=True)
    ]
    ends = np.cumsum(sizes)
    return tuple(tuple(laws[end - size : end]) for end, size in zip(ends, sizes, strict=True))


class _Given:
    """Words that are chosen, not drawn."""

    def __init__(self, words: NDArray[np.uint32]) -> None:
        self._words = words.reshape(-1)

    def words(self, n: int) -> NDArray[np.uint32]:
        if n != len(self._words):
            raise NotAThreshold(f"{len(self._words)} decisions ask for {n} words; each bit needs one of its own")
        return self._words


def _chances(
    decide: Callable[[NDArray[np.uint32]], NDArray[np.bool_]], columns: NDArray[np.intp]
) -> list[tuple[Fraction, Fraction]]:
    """P(decided for 1) of each bit where it comes in clear and set; `decide` takes and gives shape (2, bits)."""

    def at(words: NDArray[np.int64]) -> NDArray[np.bool_]:
        return decide(np.broadcast_to(words, (2, len(columns))).astype(np.uint32))

    edges = np.array([*range(0, RESOLUTION - 1, _STEP), RESOLUTION - 1])
    decisions = np.stack([at(edge) for edge in edges])
    changes = decisions[1:] != decisions[:-1]
    if several := np.flatnonzero(np.any(changes.sum(axis=0) > 1, axis=0)).tolist():
        raise NotAThreshold(f"bit {several[0]} of a report changes more than once as its word grows")
    first, cell = decisions[0], np.argmax(changes, axis=0)
    # The last word that is decided as the first one is, and the first that is not.
    below, above = edges[cell], edges[cell + 1]
    while np.any(above - below > 1):
        middle = (below + above) // 2
        as_first = at(middle) == first
        below, above = np.where(as_first, middle, below), np.where(as_first, above, middle)
    as_first_words = np.where(np.any(changes, axis=0), above, RESOLUTION)
    ones = np.where(first, as_first_words, RESOLUTION - as_first_words)
    return [(Fraction(clear, RESOLUTION), Fraction(set_, RESOLUTION)) for clear, set_ in ones.T.tolist()]
