"""The exact probabilities of one bit of an RR-LDP report: those that are stated, and those that the code realises.

Every random decision compares a word with a threshold, which is found to the last of 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms.randomness.entropy import RESOLUTION
from stream_ldp.privacy.audit.chosen_words import ChosenWords, thresholds

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import RRLDP

__all__ = ["BitLaw", "realised_laws", "stated_law"]


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
        UnknownLaw: a decision is not taken by comparing its word with one threshold.
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
        return mechanism.instantaneous(clear_and_set, ChosenWords(words))

    laws = [
        BitLaw(permanent=permanent_one, response=response_one)
        for permanent_one, response_one in zip(_chances(permanent, columns), _chances(response, columns), strict=True)
    ]
    ends = np.cumsum(sizes)
    return tuple(tuple(laws[end - size : end]) for end, size in zip(ends, sizes, strict=True))


def _chances(
    decide: Callable[[NDArray[np.uint32]], NDArray[np.bool_]], columns: NDArray[np.intp]
) -> list[tuple[Fraction, Fraction]]:
    """P(decided for 1) of each bit where it comes in clear and set; `decide` takes and gives shape (2, bits)."""

    shape = (2, len(columns))
    first = decide(np.zeros(shape, dtype=np.uint32))
    as_first = thresholds(decide, shape)
    ones = np.where(first, as_first, RESOLUTION - as_first)
    return [(Fraction(clear, RESOLUTION), Fraction(set_, RESOLUTION)) for clear, set_ in ones.T.tolist()]
