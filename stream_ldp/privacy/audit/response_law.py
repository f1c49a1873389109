"""The exact probability of every report of a frequency oracle: as it is stated, and as the code realises it.

For small oracles only: a law has an entry for each input and each pattern of a report's bits.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import RESOLUTION, DirectResponse, HadamardResponse, UnaryResponse
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.privacy.audit.chosen_words import ChosenWords, UnknownLaw, remainder_law, thresholds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle

__all__ = ["MAX_ENTRIES", "Law", "in_miniature", "law_epsilon", "realised_law", "stated_law"]

#: Probabilities of the largest law that is enumerated: some seconds.
MAX_ENTRIES = 2**16

#: P(report | input), fractions, shape (inputs, 2^bits). Inputs are the values and then the dummies, or one dummy
#: where all are alike; a report is the number whose bits, the least significant first, are the packed row.
Law = np.ndarray[tuple[int, int], np.dtype[np.object_]]

#: A word that keeps the true answer, and one that changes it.
_KEEP, _CHANGE = 0, RESOLUTION - 1


def in_miniature(oracle: FrequencyOracle) -> FrequencyOracle:
    """The oracle, or one of its kind and epsilon that is small enough to be enumerated.

    Raises:
        ValueError: it is of no known kind.
    """
    while _inputs(oracle) * 2**oracle.bits > MAX_ENTRIES:
        match oracle:
            case HadamardResponse() if oracle.size <= 2:
                oracle = replace(oracle, hash_bits=oracle.hash_bits - 1)
            case DirectResponse():
                oracle = replace(oracle, size=-(-oracle.size // 2), dummies=-(-oracle.dummies // 2))
            case HadamardResponse() | UnaryResponse():
                oracle = replace(oracle, size=oracle.size // 2)
    return oracle


def law_epsilon(law: Law) -> float:
    """ln of the largest ratio of the probabilities of one report with two inputs; never rounded down."""
    columns = [column for column in law.T.tolist() if any(column)]
    if any(not all(column) for column in columns):
        return math.inf
    largest = max(max(column) / min(column) for column in columns)
    with localcontext(PRECISION):
        return round_up((Decimal(largest.numerator) / largest.denominator).ln())


def stated_law(oracle: FrequencyOracle) -> Law:
    """The law as an oracle's parameters state it.

    Raises:
        ValueError: the oracle is too large, or of no known kind.
    """
    law = _impossible(oracle)
    match oracle:
        case DirectResponse():
            for value, said in itertools.product(range(oracle.counters), repeat=2):
                law[value, said] = _answer(oracle, value, said)
        case HadamardResponse():
            drawn = Fraction(1, oracle.rows**oracle.hash_bits)
            hashes = range(2**oracle.hash_bits)
            for rows in itertools.product(range(oracle.rows), repeat=oracle.hash_bits):
                for sent in hashes:
                    report = _hadamard_report(oracle, rows, sent)
                    for value in range(oracle.size):
                        true = sum(((row & value).bit_count() & 1) << bit for bit, row in enumerate(rows))
                        law[value, report] = drawn * _answer(oracle.response, true, sent)
                    law[oracle.size, report] = drawn / len(hashes)
        case UnaryResponse():
            for value, report in np.ndindex(law.shape):
                bits = [(int(value == bit), report >> bit & 1) for bit in range(oracle.size)]
                law[value, report] = _product(_answer(oracle.response, *bit) for bit in bits)
    return law


def realised_law(oracle: FrequencyOracle) -> Law:
    """The law as the code of `perturb` realises it, found by giving it chosen words.

    Raises:
        UnknownLaw: it cannot be found.
        ValueError: the oracle is too large, or of no known kind.
    """
    match oracle:
        case DirectResponse():
            return _direct_law(oracle)
        case HadamardResponse():
            return _hadamard_law(oracle)
        case UnaryResponse():
            return _unary_law(oracle)
    return _impossible(oracle)


def _inputs(oracle: FrequencyOracle) -> int:
    match oracle:
        case DirectResponse():
            return oracle.counters
        case HadamardResponse() | UnaryResponse():
            return oracle.size + 1
    raise ValueError(f"{type(oracle).__name__} is of no kind whose reports can be enumerated")


def _impossible(oracle: FrequencyOracle) -> Law:
    inputs = _inputs(oracle)
    if (entries := inputs * 2**oracle.bits) > MAX_ENTRIES:
        raise ValueError(f"{entries:,} probabilities: a law of at most {MAX_ENTRIES:,} is enumerated")
    return np.full((inputs, 2**oracle.bits), Fraction(0), dtype=object)


def _answer(oracle: DirectResponse, value: int, said: int) -> Fraction:
    p = Fraction(oracle.kept, RESOLUTION)
    return p if said == value else (1 - p) / (oracle.counters - 1)


def _product(chances: Iterable[Fraction]) -> Fraction:
    return math.prod(chances, start=Fraction(1))


def _hadamard_report(oracle: HadamardResponse, rows: Sequence[int], sent: int) -> int:
    width = _row_width(oracle)
    return sum(row << place * width for place, row in enumerate(rows)) | sent << len(rows) * width


def _row_width(oracle: HadamardResponse) -> int:
    return (oracle.bits - oracle.hash_bits) // oracle.hash_bits


def _direct_law(oracle: DirectResponse) -> Law:
    law = _impossible(oracle)
    values = np.arange(oracle.counters)
    kept = thresholds(lambda words: _packed(oracle.perturb(values, entropy=ChosenWords(words, 0))), values.shape)
    for value, words in enumerate(kept.tolist()):
        p = Fraction(words, RESOLUTION)
        law[value, _reports(oracle, value, 1, _KEEP)[0]] += p
        others = remainder_law(partial(_changed, oracle, value))
        for said, (_, chance) in others.items():
            law[value, said] += (1 - p) * chance
    return law


def _changed(oracle: DirectResponse, value: int, words: NDArray[np.int64]) -> NDArray[np.int64]:
    return _reports(oracle, value, len(words), _CHANGE, words)


def _hadamard_law(oracle: HadamardResponse) -> Law:
    """Rows are found for each value, and answers of each hash; that any row's hash is answered so is checked."""
    law = _impossible(oracle)
    answers = realised_law(oracle.response)
    hashes = np.arange(2**oracle.hash_bits)
    sign_bits = oracle.bits - oracle.hash_bits
    for value in range(oracle.size + 1):
        chances, words = _drawn_rows(oracle, value)
        kept = _reports(oracle, value, len(chances), *words, _KEEP)
        true = kept >> sign_bits
        for keep, other in itertools.product(_edges(oracle.response), hashes[:-1].tolist()):
            reports = _reports(oracle, value, len(chances), *words, keep, other)
            sent = oracle.response.respond(true, entropy=ChosenWords(keep, other))
            if not np.array_equal(reports, kept ^ (true ^ sent) << sign_bits):
                raise UnknownLaw("the hash of a value is not answered like any other value")
        for report, hash_, chance in zip(kept.tolist(), true.tolist(), chances, strict=True):
            law[value, report ^ (hash_ ^ hashes) << sign_bits] += chance * answers[hash_]
    return law


def _drawn_rows(oracle: HadamardResponse, value: int) -> tuple[list[Fraction], list[NDArray[np.int64]]]:
    """Probabilities of all that is drawn before a hash is answered, and its words: for rows, for a dummy's hash."""
    width = _row_width(oracle)

    def row(place: int, words: NDArray[np.int64]) -> NDArray[np.int64]:
        drawn = np.zeros((oracle.hash_bits, len(words)), dtype=np.int64)
        drawn[place] = words
        return _reports(oracle, value, len(words), drawn, 0, _KEEP) >> place * width & oracle.rows - 1

    def hash_(words: NDArray[np.int64]) -> NDArray[np.int64]:
        return _reports(oracle, value, len(words), 0, words, _KEEP) >> oracle.hash_bits * width

    laws = [remainder_law(partial(row, place)) for place in range(oracle.hash_bits)]
    if value >= oracle.size:
        laws.append(remainder_law(hash_))
    drawn = list(itertools.product(*(law.values() for law in laws)))
    chances = [_product(chance for _, chance in each) for each in drawn]
    words = np.array([[word for word, _ in each] for each in drawn]).T
    return chances, [words[: oracle.hash_bits], words[oracle.hash_bits :]]


def _edges(oracle: DirectResponse) -> list[int]:
    """Words on both sides of every threshold below which a value is kept."""
    values = np.arange(oracle.counters)
    kept = thresholds(lambda words: oracle.respond(values, entropy=ChosenWords(words, 0)), values.shape)
    edges = {word for count in kept.tolist() for word in (count - 1, count)}
    return sorted(word for word in edges if 0 <= word < RESOLUTION)


def _unary_law(oracle: UnaryResponse) -> Law:
    law = _impossible(oracle)
    shape = len(law), oracle.size

    def decide(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
        rows = oracle.perturb(np.arange(len(law)), entropy=ChosenWords(words))
        return np.unpackbits(rows, axis=1, count=oracle.size, bitorder="little")

    as_first = thresholds(decide, shape)
    ones = np.where(decide(np.zeros(shape, dtype=np.uint32)), as_first, RESOLUTION - as_first)
    for row, counts in zip(law, ones.tolist(), strict=True):
        for report in range(len(row)):
            sent = [count if report >> bit & 1 else RESOLUTION - count for bit, count in enumerate(counts)]
            row[report] = _product(Fraction(count, RESOLUTION) for count in sent)
    return law


def _reports(
    oracle: FrequencyOracle, value: int, users: int, *requests: NDArray[np.integer] | int
) -> NDArray[np.int64]:
    """What users with one value report, given these words."""
    return _packed(oracle.perturb(np.full(users, value), entropy=ChosenWords(*requests)))


def _packed(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Rows as numbers."""
    return rows.astype(np.int64) @ (1 << 8 * np.arange(rows.shape[1]))
