"""PEM, the prefix extending method (Wang, Li and Jha, 2018): users answer about beginnings of their strings.

Each user permanently belongs to one group, and answers about the beginning of a length of the group's by local
hashing. So clients need no list of strings, and all groups answer in the same window: the server finds the frequent
beginnings of the first length, extends them by all letters, and goes on with those that are frequent by the answers
of the next.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import DirectResponse
from stream_ldp.mechanisms.hashing import MAX_HASH_BITS, hash_planes, hashes, symbol_planes
from stream_ldp.mechanisms.packing import unpack
from stream_ldp.strings.attribute import END
from stream_ldp.strings.method import StringMethod, Supports, TriedStrings
from stream_ldp.strings.questions import StringQuestion, StringQuestions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.strings.attribute import StringAttribute
    from stream_ldp.strings.method import Windows
    from stream_ldp.strings.questions import StringAnswers

    #: The answers of one group in each window, with the weight of the window.
    Group = list[tuple[float, StringAnswers]]

#: The most extensions of a beginning. With two letters of 26 at a time in place of one, half of the groups are left,
#: each with twice the users: 21 of the top 32 in place of 19 (2,000 strings of 6 letters, 10^6 users, epsilon 2).
_MAX_EXTENSIONS = 1_024

#: Users of the first group, of each between, and of the last, relative to each other: (z + 2)^2, where z is the
#: number of standard errors at which a beginning goes on, or a string is reported. It is 1 at first, `_MIN_SCORE`;
#: then 3, as 64 of 47,000 extensions that nobody has are above it; and 4.25 at last, as half of one of them is. So
#: whatever is 2 standard errors more frequent than its group requires is just as frequent in all groups.
_FIRST, _BETWEEN, _LAST = 9.0, 25.0, 39.0

#: Beginnings and strings that are kept of each group for each string that is asked for. With one, 20.4 of the top 32
#: are found in place of 21.4, and with four 21.9 (12 windows of `zipf_strings` with drawn counts, epsilon 2).
_KEPT = 2

#: Standard errors above 0 of a beginning that is kept.
_MIN_SCORE = 1.0

#: Answers that are counted at once: 64 beginnings then take 128 kB for each bit of their hashes, which stay in a
#: core's second cache while all endings are tried.
_CHUNK = 2**14

#: Endings whose counts are added up together, in a few operations.
_COUNTED = 32

#: Every other byte of a word.
_EVERY_OTHER = np.uint64(0x00FF00FF00FF00FF)


@dataclass(frozen=True, kw_only=True)
class PrefixQuestion(StringQuestion):
    """The question with which letters the user's string begins.

    length: their number.
    whole: whether that is all of them.
    bits: of the hash with which it is answered.
    """

    length: int
    whole: bool
    bits: int

    @property
    def title(self) -> str:
        return "the whole string" if self.whole else f"its beginning of {self.length}"

    @property
    def meaning(self) -> int:
        return self.length

    def inputs(self, symbols: NDArray[np.integer], seeds: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `StringQuestion.inputs`: the hash of the beginning."""
        return hashes(symbols[:, : self.length], seeds, bits=self.bits)[:, None]


@dataclass(frozen=True, kw_only=True)
class Pem(StringMethod):
    """PEM over a hash of 2^t buckets under a seed of each user's own.

    response: perturbs the bucket.
    """

    name: ClassVar[str] = "pem"

    questions: StringQuestions[PrefixQuestion]
    response: DirectResponse

    @classmethod
    def of(cls, attribute: StringAttribute, *, epsilon: float) -> Pem:
        """See `StringMethod.of`; the hash is the one of minimum variance."""
        found = []
        for bits in range(1, MAX_HASH_BITS + 1):
            try:
                found.append((bits, DirectResponse(size=2**bits, epsilon=epsilon)))
            except ParameterError:
                # The epsilon is beyond the resolution with so many buckets.
                continue
        if not found:
            DirectResponse(size=2, epsilon=epsilon)  # raises, and says what is possible
        bits, response = min(found, key=lambda each: _variance(*each))
        step = next(step for step in itertools.count(1) if attribute.symbols ** (step + 1) > _MAX_EXTENSIONS)
        before = range(step, attribute.length, step)
        weights = [_FIRST, *(_BETWEEN for _ in before[1:]), _LAST][-len(before) - 1 :]
        questions = tuple(
            PrefixQuestion(weight=weight, length=length, whole=length == attribute.length, bits=bits)
            for weight, length in zip(weights, [*before, attribute.length], strict=True)
        )
        return cls(
            attribute=attribute,
            questions=StringQuestions(questions=questions, randomizers=(response,)),
            response=response,
        )

    @property
    def whole_support(self) -> tuple[float, float, float]:
        """See `StringMethod.whole_support`: those who are asked about all letters."""
        return float(self.questions.shares[-1]), self._one, self._zero

    def error(self, users: int) -> float:
        reports = users * float(self.questions.shares[-1])
        return float(Supports(reports=reports, counts=np.zeros(0), one=self._one, zero=self._zero).absent_error)

    def candidates(self, windows: Windows, *, k: int) -> TriedStrings | None:
        groups = self._groups(windows)
        if not all(any(answers.reports for _, answers in group) for group in groups):
            return None
        beginnings = np.zeros((1, 0), dtype=np.int64)
        found, chosen, tried = [], [], []
        for place, (group, length) in enumerate(zip(groups, self.lengths, strict=True)):
            endings = self._endings(length - beginnings.shape[1])
            ended = (endings == END).any(axis=1)
            supports = self._with_later(
                self._supports(group, beginnings, endings),
                [self._supports(*later) for later in self._later(groups, place, beginnings, endings[ended])],
                np.tile(ended, len(beginnings)),
            )
            extended = np.concatenate(
                [np.repeat(beginnings, len(endings), axis=0), np.tile(endings, (len(beginnings), 1))], axis=1
            )
            possible = np.flatnonzero(self.attribute.valid(extended))
            extended, supports = extended[possible], supports.taken(possible)
            whole = (extended[:, -1] == END) | (length == self.attribute.length)
            tried.append(supports.taken(np.flatnonzero(whole)))
            scores = supports.frequency / supports.absent_error
            best = np.argsort(-scores, kind="stable")[: _KEPT * k]
            best = best[scores[best] >= _MIN_SCORE]
            # What has ended is judged by all who report it whole, once: each group by itself would lose some of them.
            strings = extended[best[whole[best]]]
            found.append(np.pad(strings, ((0, 0), (0, self.attribute.length - length)), constant_values=END))
            chosen.append(supports.taken(best[whole[best]]))
            beginnings = extended[best[~whole[best]]]
            if not len(beginnings):
                break
        return TriedStrings(np.concatenate(found), Supports.joined(chosen), every=Supports.joined(tried))

    def supports(self, windows: Windows, symbols: NDArray[np.integer]) -> Supports:
        """See `StringMethod.supports`: by all groups with the whole string: a beginning with an end is whole."""
        letters = (symbols != END).sum(axis=1)
        reports, counts = np.zeros(len(symbols)), np.zeros(len(symbols))
        for group, length in zip(self._groups(windows), self.lengths, strict=True):
            whole = (letters < length) | (length == self.attribute.length)
            if whole.any():
                supports = self._supports(group, symbols[whole, :length], np.zeros((1, 0), dtype=np.int64))
                reports[whole] += supports.reports
                counts[whole] += supports.counts
        return Supports(reports=reports, counts=counts, one=self._one, zero=self._zero)

    def _later(
        self, groups: Sequence[Group], place: int, beginnings: NDArray[np.int64], endings: NDArray[np.int64]
    ) -> Iterator[tuple[Group, NDArray[np.int64], NDArray[np.int64]]]:
        """Iterate over the groups after one, with the endings of strings that have ended filled up for each."""
        for group, length in zip(groups[place + 1 :], self.lengths[place + 1 :], strict=True):
            filled = ((0, 0), (0, length - self.lengths[place]))
            yield group, beginnings, np.pad(endings, filled, constant_values=END)

    def _with_later(self, supports: Supports, later: Sequence[Supports], ended: NDArray[np.bool_]) -> Supports:
        """Add the answers of later groups about strings that have ended, which they identify as well.

        ended: whether each candidate of `supports` has, in the order of those of `later`.
        """
        reports, counts = np.full(len(ended), supports.reports, dtype=np.float64), supports.counts.copy()
        for each in later:
            reports[ended] += each.reports
            counts[ended] += each.counts
        return Supports(reports=reports, counts=counts, one=self._one, zero=self._zero)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Letters of the beginning that each group answers about."""
        return tuple(question.length for question in self.questions.questions)

    def _groups(self, windows: Windows) -> list[Group]:
        """Return the answers of each group."""
        return [
            [(weight, answers.asked(number)) for weight, answers in windows] for number in range(len(self.lengths))
        ]

    def _endings(self, length: int) -> NDArray[np.int64]:
        """Return all sequences of so many symbols in which nothing follows an end, shape (n, length)."""
        every = np.indices([self.attribute.symbols] * length).reshape(length, -1).T
        possible: NDArray[np.int64] = every[~((every[:, :-1] == END) & (every[:, 1:] != END)).any(axis=1)]
        return possible

    def _supports(self, group: Group, beginnings: NDArray[np.integer], endings: NDArray[np.int64]) -> Supports:
        """Count the answers that support each beginning with each ending, the endings of one beginning together."""
        parts = [
            (weight, answers.reports, answers.counted(self._counts, beginnings, endings).T.reshape(-1))
            for weight, answers in group
        ]
        return Supports.of(parts, one=self._one, zero=self._zero, reports_per_user=self.reports_per_user)

    def _counts(
        self, answers: StringAnswers, beginnings: NDArray[np.integer], endings: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Count the answers of one group that support each string, int64, shape (endings, beginnings)."""
        counts = np.zeros((len(endings), len(beginnings)), dtype=np.int64)
        for times, part in answers.parts(most=_CHUNK):
            (sent,) = unpack(part.rows[0], [self.response.bits])
            counts += times * _supporting(sent, part.seeds, beginnings, endings, bits=self.response.bits)
        return counts

    @property
    def _one(self) -> float:
        return self.response.support[0]

    @property
    def _zero(self) -> float:
        # Another string falls into every bucket alike, and so into the one that is sent.
        return 1 / self.response.size


def _variance(bits: int, response: DirectResponse) -> float:
    """Return the variance, times the number of reports, of the frequency of a string that nobody has."""
    zero = 2.0**-bits
    return zero * (1 - zero) / (response.support[0] - zero) ** 2


def _supporting(
    sent: NDArray[np.int64],
    seeds: NDArray[np.uint32],
    beginnings: NDArray[np.integer],
    endings: NDArray[np.integer],
    *,
    bits: int,
) -> NDArray[np.int64]:
    """Count the reports whose bucket is that of each string, int64, shape (endings, beginnings).

    A string's hash is the XOR of its symbols' hashes, so that it equals the bucket that was sent if the XOR of both
    is 0 in all bits. 64 reports make up a word, and each bit is a plane of such words.
    """
    # Whole groups of 8 words, for `_sums`.
    reports, whole = len(sent), len(sent) + -len(sent) % 512
    seeds, sent = np.pad(seeds, (0, whole - reports)), np.pad(sent, (0, whole - reports))
    first = _planes(beginnings, seeds, position=0, bits=bits)
    first ^= hash_planes(sent.astype(np.uint64) << np.uint64(64 - bits), bits=bits)
    last = _planes(endings, seeds, position=beginnings.shape[1], bits=bits)
    if whole > reports:
        # What is filled up differs from no string.
        real = np.packbits(np.arange(whole) < reports).view(np.uint64)
        first &= real
        last &= real
    first = np.ascontiguousarray(first.swapaxes(0, 1))
    differing, other = np.empty_like(first[0]), np.empty_like(first[0])
    counts = np.empty((_COUNTED, *differing.shape), dtype=np.uint8)
    found = np.empty((len(endings), len(beginnings)), dtype=np.int64)
    for start in range(0, len(endings), _COUNTED):
        some = last[start : start + _COUNTED]
        for place, planes in enumerate(some):
            np.bitwise_xor(first[0], planes[0], out=differing)
            for bit in range(1, bits):
                np.bitwise_xor(first[bit], planes[bit], out=other)
                np.bitwise_or(differing, other, out=differing)
            np.bitwise_count(differing, out=counts[place])
        found[start : start + _COUNTED] = _sums(counts[: len(some)])
    return reports - found


def _sums(counts: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Add up the last axis of counts up to 64, of at most 4,088 in a multiple of 8.

    The counts of 8 words make up a word, whose bytes are added up in pairs, as four numbers of 16 bits.
    """
    words = counts.view(np.uint64)
    pairs = (words & _EVERY_OTHER) + (words >> np.uint64(8) & _EVERY_OTHER)
    sums = pairs.sum(axis=-1, dtype=np.uint64)
    found: NDArray[np.int64] = sums[..., None].view(np.uint16).sum(axis=-1, dtype=np.int64)
    return found


def _planes(
    strings: NDArray[np.integer], seeds: NDArray[np.uint32], *, position: int, bits: int
) -> NDArray[np.uint64]:
    """Return the planes of the hashes of strings that begin at a position, shape (n, bits, words)."""
    planes = np.zeros((len(strings), bits, len(seeds) // 64), dtype=np.uint64)
    for place, column in enumerate(strings.T, start=position):
        # Without a sort, which np.unique takes: there are few symbols, and all endings come again with each chunk.
        symbols = np.flatnonzero(np.bincount(column))
        planes ^= symbol_planes(seeds, position=place, symbols=symbols, bits=bits)[np.searchsorted(symbols, column)]
    return planes
