"""RAPPOR-unknown (Fanti, Pihur and Erlingsson, 2016): a string is put together from pairs of its n-grams.

A user sends a hash of the string and its pairs of letters at two places, each through a RAPPOR of a third of epsilon.
The places are drawn whatever the string is. The server takes the frequent pairs of letters of each place, finds which
of two places come together, and makes candidates of those that all do. The hashes give their frequencies.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.filtering.weighted_reports import WeightedReports
from stream_ldp.mechanisms import UnaryResponse
from stream_ldp.mechanisms.hashing import hashes
from stream_ldp.mechanisms.packing import bit_sums, bits_at
from stream_ldp.strings.attribute import END, StringAttribute
from stream_ldp.strings.method import StringMethod, Supports, TriedStrings
from stream_ldp.strings.questions import StringAnswers, StringQuestion, StringQuestions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.strings.method import Windows

    Groups = dict[tuple[int, ...], list[tuple[float, StringAnswers]]]

#: Letters of an n-gram, and n-grams of a report (section 4.3 of the paper).
_LETTERS = 2
_GRAMS = 2

#: Bits of the hash of a string: another string shares its bit with probability 1 / 128.
_HASH_BITS = 7

#: Most n-grams of a place, with a bit each: those of 63 letters.
_MAX_GRAMS = 2**12

#: Longest strings: of 32 letters, 16 places make 120 pairs.
_MAX_LENGTH = 32

#: N-grams of a place that are kept for each string that is asked for.
_KEPT = 2

#: Standard errors above 0 of two n-grams that come together. With 3, 9 of the top 32 are found in place of 13 (2,000
#: strings of 6 letters, 10^6 users, epsilon 4). What comes together by chance is weeded out by the hash of strings.
_TOGETHER = 2.0

#: Candidates that are tried for each string that is asked for, at most: the weakest pair of n-grams decides.
_TRIED = 8

#: Reports whose bits are unpacked at once.
_CHUNK = 2**14


@dataclass(frozen=True, kw_only=True)
class PairQuestion(StringQuestion):
    """The question what the string hashes to, and which n-grams it has at two places.

    places: numbers of the places, from 0; the n-gram of place j is made of the letters from 2 j on.
    symbols: number of symbols.
    """

    places: tuple[int, ...]
    symbols: int

    @property
    def title(self) -> str:
        first, second = (_LETTERS * place + 1 for place in self.places)
        return f"its hash and its letters {first}, {first + 1} and {second}, {second + 1}"

    @property
    def meaning(self) -> list[int]:
        return list(self.places)

    def inputs(self, symbols: NDArray[np.integer], seeds: NDArray[np.integer]) -> NDArray[np.int64]:
        """See `StringQuestion.inputs`: the hash of the string, and the numbers of both n-grams."""
        grams = _grams(symbols, self.symbols)
        return np.stack(
            [hashes(symbols, seeds, bits=_HASH_BITS), *(grams[:, place] for place in self.places)], axis=1
        )


@dataclass(frozen=True, kw_only=True)
class RapporUnknown(StringMethod):
    """RAPPOR-unknown with pairs of letters, one hash under a seed of each user's own, and no second noise."""

    name: ClassVar[str] = "rappor-unknown"

    questions: StringQuestions[PairQuestion]
    hashed: UnaryResponse
    gram: UnaryResponse

    @classmethod
    def of(cls, attribute: StringAttribute, *, epsilon: float) -> RapporUnknown:
        """See `StringMethod.of`: the hash and the n-grams have equal parts of epsilon."""
        grams = attribute.symbols**_LETTERS
        if grams > _MAX_GRAMS:
            raise ParameterError(
                f"method rappor-unknown has a bit for every pair of letters: give an `alphabet` of at most "
                f"{int(_MAX_GRAMS**0.5) - 1} letters, or take method pem"
            )
        if not _LETTERS < attribute.length <= _MAX_LENGTH:
            raise ParameterError(
                f"method rappor-unknown is for strings of 3 to {_MAX_LENGTH} letters, got length: "
                f"{attribute.length}; take method pem"
            )
        share = epsilon / (1 + _GRAMS)
        hashed = UnaryResponse(size=2**_HASH_BITS, epsilon=share)
        gram = UnaryResponse(size=grams, epsilon=share)
        places = range(-(-attribute.length // _LETTERS))
        questions = tuple(
            PairQuestion(weight=1, places=pair, symbols=attribute.symbols)
            for pair in itertools.combinations(places, _GRAMS)
        )
        return cls(
            attribute=attribute,
            questions=StringQuestions(questions=questions, randomizers=(hashed, gram, gram)),
            hashed=hashed,
            gram=gram,
        )

    @property
    def whole_support(self) -> tuple[float, float, float]:
        """See `StringMethod.whole_support`: all of them, by the hash."""
        return 1.0, *self._support

    def error(self, users: int) -> float:
        one, zero = self._support
        return float(Supports(reports=users, counts=np.zeros(0), one=one, zero=zero).absent_error)

    def candidates(self, windows: Windows, *, k: int) -> TriedStrings | None:
        groups: Groups = {
            question.places: [(weight, answers.where(answers.numbers == number)) for weight, answers in windows]
            for number, question in enumerate(self.questions.questions)
        }
        if not all(any(answers.reports for _, answers in group) for group in groups.values()):
            return None
        frequent = [self._frequent(groups, place, most=_KEPT * k) for place in range(self._places)]
        candidates = self._joined(groups, frequent, most=_TRIED * k)
        supports = self.supports(windows, candidates)
        return TriedStrings(candidates, supports, every=supports)

    def supports(self, windows: Windows, symbols: NDArray[np.integer]) -> Supports:
        """See `StringMethod.supports`: by the hashes of all answers."""
        parts = [(weight, answers.reports, self._supporting(answers, symbols)) for weight, answers in windows]
        one, zero = self._support
        return Supports.of(parts, one=one, zero=zero, reports_per_user=self.reports_per_user)

    @property
    def _places(self) -> int:
        return -(-self.attribute.length // _LETTERS)

    @property
    def _support(self) -> tuple[float, float]:
        """Probabilities that the bit of a string is 1 in a report of it, and of another, which may share the bit."""
        one, zero = self.hashed.support
        return one, zero + (one - zero) / self.hashed.size

    def _frequent(self, groups: Groups, place: int, *, most: int) -> NDArray[np.int64]:
        """Return the n-grams of a place that most reports support."""
        one, zero = self.gram.support
        parts = [
            (weight, answers.reports, self._gram_sums(answers, 1 + pair.index(place)))
            for pair, group in groups.items()
            if place in pair
            for weight, answers in group
        ]
        frequency = Supports.of(parts, one=one, zero=zero, reports_per_user=self.reports_per_user).frequency
        return np.argsort(-frequency, kind="stable")[:most]

    def _joined(self, groups: Groups, frequent: list[NDArray[np.int64]], *, most: int) -> NDArray[np.int64]:
        """Return the strings all of whose n-grams come together in pairs, those with the strongest weakest pair."""
        scores = {
            (first, second): self._together(group, frequent[first], frequent[second])
            for (first, second), group in groups.items()
        }
        chosen = np.arange(len(frequent[0]))[:, None]
        weakest = np.full(len(chosen), np.inf)
        for place in range(1, self._places):
            score = np.min([scores[before, place][chosen[:, before]] for before in range(place)], axis=0)
            score = np.minimum(score, weakest[:, None])
            rows, columns = np.nonzero(score > _TOGETHER)
            order = np.argsort(-score[rows, columns], kind="stable")[:most]
            rows, columns = rows[order], columns[order]
            chosen = np.concatenate([chosen[rows], columns[:, None]], axis=1)
            weakest = score[rows, columns]
        grams = [frequent[place][chosen[:, place]] for place in range(self._places)]
        letters = [each for gram in grams for each in np.divmod(gram, self.attribute.symbols)]
        symbols = np.stack(letters, axis=1)
        # A string of an odd length has an end in its last n-gram.
        fits = (symbols[:, self.attribute.length :] == END).all(axis=1)
        symbols = symbols[fits, : self.attribute.length]
        return symbols[self.attribute.valid(symbols)]

    def _together(
        self, group: list[tuple[float, StringAnswers]], first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return how many standard errors the frequency of two n-grams together is above 0, shape (first, second).

        The estimate is the mean product of the unbiased estimates from both bits, which are perturbed independently.
        """
        one, zero = self.gram.support
        total = np.zeros((len(first), len(second)))
        weighted = WeightedReports.of(
            ((weight, answers.reports) for weight, answers in group), reports_per_user=self.reports_per_user
        )
        for weight, answers in group:
            for times, part in answers.parts(most=_CHUNK):
                firsts, seconds = (
                    (bits_at(rows, grams, self.gram.size) - zero) / (one - zero)
                    for rows, grams in zip(part.rows[1:], (first, second), strict=True)
                )
                total += weight * times * (firsts.T @ seconds)
        error = zero * (1 - zero) / (one - zero) ** 2 / np.sqrt(weighted.effective)
        scores: NDArray[np.float64] = total / weighted.total / error
        return scores

    def _supporting(self, answers: StringAnswers, strings: NDArray[np.integer]) -> NDArray[np.int64]:
        """Count the reports with the bit that each string hashes to, int64, shape (strings,)."""
        found = np.zeros(len(strings), dtype=np.int64)
        distinct = np.arange(len(answers.seeds))
        for place, string in enumerate(strings):
            bucket = hashes(np.broadcast_to(string, (len(distinct), len(string))), answers.seeds, bits=_HASH_BITS)
            found[place] = answers.counts[(answers.rows[0][distinct, bucket >> 3] >> (bucket & 7) & 1) > 0].sum()
        return found

    def _gram_sums(self, answers: StringAnswers, randomizer: int) -> NDArray[np.int64]:
        """Count the reports with each bit of a randomizer's n-gram, int64, shape (grams,)."""
        found = np.zeros(self.gram.size, dtype=np.int64)
        for times, part in answers.parts(most=_CHUNK):
            found += times * bit_sums(part.rows[randomizer], self.gram.size)
        return found


def _grams(symbols: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    """Return the number of the n-gram at each place, the first letter's symbol the more significant, (n, places)."""
    padded = np.pad(symbols.astype(np.int64), ((0, 0), (0, symbols.shape[1] % _LETTERS)), constant_values=END)
    return padded[:, ::2] * count + padded[:, 1::2]
