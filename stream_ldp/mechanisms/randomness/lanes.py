"""Many decisions at once: 64 random words compared with thresholds bit by bit, as the 64 lanes of one integer.

A uniform word is below a threshold if the first bit, from the highest on, in which they differ is 0 in the word. Each
bit of a word differs with probability 1/2, so two bits decide on average, and the bits behind need not be drawn: the
decisions have the probabilities of whole words, exactly, and take less than a quarter of the randomness.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_WORD_BITS = 32

#: Integers that are worked on at a time: 128 KiB stay in a core's cache.
_BLOCK = 2**15

#: Bits that are drawn for all lanes. After seven, two integers in five have an undecided lane; from then on, those
#: whose lanes are all decided are left out, which takes about as long as a bit does.
_ALL_LANES = 7

_ALL = np.uint64(2**64 - 1)


def responses(
    states: NDArray[np.bool_], *, zero: int, one: int, draw: Callable[[int], NDArray[np.uint64]]
) -> NDArray[np.bool_]:
    """Decide True with probability one / 2^32 where a state is True, and zero / 2^32 where it is not; same shape.

    zero, one: 0 to 2^32.
    draw: returns so many independent uniform integers of 64 bits.
    """
    packed = np.packbits(states.reshape(-1), bitorder="little")
    lanes = np.zeros(-(-len(packed) // 8), dtype="<u8")
    lanes.view(np.uint8)[: len(packed)] = packed
    for begin in range(0, len(lanes), _BLOCK):
        block = lanes[begin : begin + _BLOCK]
        block[:] = _decided(block, zero, one, draw)
    decided = np.unpackbits(lanes.view(np.uint8), count=states.size, bitorder="little")
    return decided.view(np.bool_).reshape(states.shape)


def _decided(
    states: NDArray[np.uint64], zero: int, one: int, draw: Callable[[int], NDArray[np.uint64]]
) -> NDArray[np.uint64]:
    """Compare a word with the threshold of its state in every lane; lanes of the result are 1 where it is below."""
    # A threshold of 2^32 does not fit a word: every word is below.
    below = _thresholds(states, zero, one, _WORD_BITS)
    open_ = ~below
    # Behind the last bit that is set in a threshold, no word can still be below.
    last = min(_lowest_bit(zero), _lowest_bit(one))
    begun = min(_ALL_LANES, _WORD_BITS - last)
    words = draw(begun * len(states)).reshape(begun, len(states))
    for place, word in zip(range(_WORD_BITS - 1, last - 1, -1), words, strict=False):
        _compare(below, open_, _thresholds(states, zero, one, place), word)
    which = np.flatnonzero(open_)
    below_, open_, states = below[which], open_[which], states[which]
    for place in range(_WORD_BITS - 1 - begun, last - 1, -1):
        if not len(which):
            break
        _compare(below_, open_, _thresholds(states, zero, one, place), draw(len(which)))
        below[which] = below_
        left = np.flatnonzero(open_)
        which, below_, open_, states = which[left], below_[left], open_[left], states[left]
    return below


def _compare(
    below: NDArray[np.uint64], open_: NDArray[np.uint64], threshold: NDArray[np.uint64], word: NDArray[np.uint64]
) -> None:
    """Compare the next bit of all words with that of their thresholds, in place: where they differ, it decides."""
    decided = word ^ threshold
    decided &= open_
    open_ ^= decided
    decided &= threshold
    below |= decided


def _thresholds(states: NDArray[np.uint64], zero: int, one: int, place: int) -> NDArray[np.uint64]:
    """Return the bit at a place of the threshold of every lane's state."""
    match (zero >> place & 1, one >> place & 1):
        case (0, 0):
            return np.zeros_like(states)
        case (1, 1):
            return np.full_like(states, _ALL)
        case (0, 1):
            return states.copy()
        case _:
            return ~states


def _lowest_bit(threshold: int) -> int:
    """Return the place of the lowest bit that is set; that of a whole word if there is none."""
    return (threshold & -threshold).bit_length() - 1 if threshold else _WORD_BITS
