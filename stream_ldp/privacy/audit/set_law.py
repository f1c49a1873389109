"""The exact probability of every report of a response to whole sets: as it is stated, and as the code realises it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.privacy.audit.chosen_words import ChosenWords, UnknownLaw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, SetHadamardResponse
    from stream_ldp.privacy.audit.response_law import Law

    #: Reports, as numbers, of so many users who all hold the set at a place of the list.
    Answer = Callable[[int, int, Entropy], NDArray[np.int64]]

__all__ = ["all_sets", "answers_to", "realised_set_law", "small_set_response", "stated_set_law"]

#: Values and bits of hash of a response that is small: all of its sets, rows and orders of hashes take a second.
_MOST_VALUES = 5
_MOST_HASH_BITS = 2

#: Multiples of the number of rows that are added to a word that draws a row, and must not matter.
_MULTIPLES = (1, 12_345, -1)


def small_set_response(oracle: SetHadamardResponse) -> SetHadamardResponse:
    """The oracle, or one of its kind and epsilon that is small enough to be enumerated."""
    if oracle.size <= _MOST_VALUES and oracle.hash_bits <= _MOST_HASH_BITS:
        return oracle
    hash_bits = min(oracle.hash_bits, _MOST_HASH_BITS)
    slots = min(oracle.slots, 2**hash_bits - 1)
    return replace(oracle, size=min(oracle.size, _MOST_VALUES), slots=slots, hash_bits=hash_bits)


def all_sets(size: int) -> list[tuple[int, ...]]:
    """All sets of values below `size`, in the order of their bits."""
    return [tuple(value for value in range(size) if bits >> value & 1) for bits in range(2**size)]


def answers_to(oracle: SetHadamardResponse, sets: Sequence[Sequence[int]]) -> Answer:
    """What the oracle itself reports for users who all hold the set at a place of the list."""

    def answer(place: int, users: int, entropy: Entropy) -> NDArray[np.int64]:
        values = np.array(sets[place], dtype=np.int64)
        rows = oracle.perturb_sets(np.arange(users + 1) * len(values), np.tile(values, users), entropy=entropy)
        return rows.astype(np.int64) @ (1 << 8 * np.arange(rows.shape[1]))

    return answer


def stated_set_law(oracle: SetHadamardResponse, sets: Sequence[Sequence[int]]) -> Law:
    """P(report | set) as the parameters state it, shape (sets, 2^bits); reports are numbered as in `Law`.

    Each of at most l hashes of a set, drawn at random from all of them, has the chance p, all others the same.
    """
    law = np.full((len(sets), 2**oracle.bits), Fraction(0), dtype=object)
    p, hashes, rows = Fraction(oracle.kept, RESOLUTION), 2**oracle.hash_bits, _rows(oracle)
    for chances, items in zip(law, sets, strict=True):
        for drawn in rows:
            own = _hashes(drawn, items)
            taken = min(len(own), oracle.slots)
            other = (1 - taken * p) / (hashes - taken)
            for sent in range(hashes):
                chance = other + (p - other) * Fraction(taken, len(own)) if sent in own else other
                chances[_number(oracle, drawn) | sent << oracle.index_bits] = chance / len(rows)
    return law


def realised_set_law(oracle: SetHadamardResponse, sets: Sequence[Sequence[int]], answer: Answer) -> Law:
    """P(report | set) as the code realises it, found by giving it chosen words, as if no two words were the same.

    Its words are requested in this order: for the rows; to shuffle the hashes of sets that have more than l, a word
    for each; to send one of the hashes taken, or another; which.

    Raises:
        UnknownLaw: it cannot be found, or is not made of p and uniform choices.
    """
    law = np.full((len(sets), 2**oracle.bits), Fraction(0), dtype=object)
    for place, items in enumerate(sets):
        law[place] = _law_of_one(oracle, items, partial(answer, place))
    return law


def _law_of_one(
    oracle: SetHadamardResponse, items: Sequence[int], answer: Callable[[int, Entropy], NDArray[np.int64]]
) -> list[Fraction]:
    hashes, rows = 2**oracle.hash_bits, _rows(oracle)
    # A user for every choice of rows, and where hashes are shuffled, for every order of them.
    users = [(drawn, order) for drawn in rows for order in _orders(oracle, len(_hashes(drawn, items)))]
    drawn = np.array([rows_ for rows_, _ in users]).T
    shuffled = np.array([word for _, order in users for word in order], dtype=np.int64)
    taken = np.array([min(len(_hashes(rows_, items)), oracle.slots) for rows_, _ in users])
    orders = np.array([len(_orders(oracle, len(_hashes(rows_, items)))) for rows_, _ in users])

    def ask(keep: NDArray[np.int64] | int, which: int, *, multiple: int = 0) -> NDArray[np.int64]:
        words = (drawn + multiple * oracle.code.rows) % RESOLUTION
        requests = [words, shuffled, keep, which] if len(shuffled) else [words, keep, which]
        return answer(len(users), ChosenWords(*requests))

    own = np.stack([ask(0, which) for which in range(2 * hashes)])
    other = np.stack([ask(RESOLUTION - 1, which) for which in range(2 * hashes)])
    edge = taken * oracle.kept
    numbers = np.array([_number(oracle, rows_) for rows_, _ in users])
    as_known = [
        bool(np.all(other & (1 << oracle.index_bits) - 1 == numbers)),
        *(np.array_equal(ask(0, 0, multiple=multiple), own[0]) for multiple in _MULTIPLES),
        np.array_equal(ask(np.maximum(edge - 1, 0), 0), own[0]),
        np.array_equal(ask(edge, 0), other[0]),
        _repeats(own, np.where(taken, taken, hashes)),
        _repeats(other, hashes - taken),
    ]
    if not all(as_known):
        raise UnknownLaw("a set is not answered by one p and uniform choices of its hashes and of the others")
    unit = RESOLUTION * math.lcm(*range(1, hashes + 1)) * math.lcm(*orders.tolist())
    weights = np.zeros(2**oracle.bits, dtype=object)
    for reports, part, choices in ((own, edge, taken), (other, RESOLUTION - edge, hashes - taken)):
        for which in range(hashes):
            chosen = np.flatnonzero(choices > which)
            each = [
                unit // RESOLUTION * int(part[user]) // int(choices[user] * orders[user]) for user in chosen.tolist()
            ]
            np.add.at(weights, reports[which, chosen], np.array(each, dtype=object))
    return [Fraction(weight, unit * len(rows)) for weight in weights.tolist()]


def _repeats(reports: NDArray[np.int64], periods: NDArray[np.int64]) -> bool:
    """Whether what a word decides is decided by its remainder, which is another for each choice."""
    words = np.arange(len(reports))[:, None]
    within = np.where(words < periods, reports, -words - 1)
    distinct = all(len(set(column)) == len(column) for column in within.T.tolist())
    return distinct and np.array_equal(np.take_along_axis(reports, words % periods, axis=0), reports)


def _rows(oracle: SetHadamardResponse) -> list[tuple[int, ...]]:
    return list(itertools.product(range(oracle.code.rows), repeat=oracle.hash_bits))


def _orders(oracle: SetHadamardResponse, hashes: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(hashes))) if hashes > oracle.slots else [()]


def _hashes(rows: Sequence[int], items: Sequence[int]) -> set[int]:
    return {sum(((row & item).bit_count() & 1) << bit for bit, row in enumerate(rows)) for item in items}


def _number(oracle: SetHadamardResponse, rows: Sequence[int]) -> int:
    """A report of these rows, and hash 0."""
    width = oracle.index_bits // oracle.hash_bits
    return sum(row << place * width for place, row in enumerate(rows))
