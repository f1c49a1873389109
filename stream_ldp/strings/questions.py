"""Questions about a string: a report says in the clear which one it answers, and by which seed."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from stream_ldp.mechanisms.hashing import SEED_BYTES
from stream_ldp.mechanisms.plausibility import MIN_EXPECTED, PlausibilityTest, compared
from stream_ldp.mechanisms.privacy_loss import round_up
from stream_ldp.mechanisms.randomness.allocation import Allocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, Randomizer
    from stream_ldp.mechanisms.blanket import Blanket
    from stream_ldp.strings.recount import Count, Recount

#: Most questions: a report says in one byte which one it answers.
MAX_QUESTIONS = 2**8

_HEAD = 1 + SEED_BYTES


@dataclass(frozen=True, kw_only=True)
class StringQuestion(ABC):
    """A question about a string.

    weight: the share of users who are asked, relative to that of other questions.
    """

    weight: float

    @property
    @abstractmethod
    def title(self) -> str:
        """What is asked, in words."""

    @property
    @abstractmethod
    def meaning(self) -> Any:
        """What is asked, as plain data."""

    @abstractmethod
    def inputs(self, symbols: NDArray[np.integer], seeds: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the input of each randomizer, int64, shape (n, randomizers).

        symbols: of each user's string, shape (n, length).
        seeds: of each user, shape (n,).
        """


QuestionT_co = TypeVar("QuestionT_co", bound=StringQuestion, covariant=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class StringAnswers:
    """Distinct answers, taken out of their rows, and how often each has come.

    counts: of each, int64, shape (n,).
    numbers: of the questions, shape (n,).
    seeds: shape (n,).
    rows: packed rows of each randomizer, uint8, shape (n, its width).
    recount: what an earlier solve has counted of them; None if there is nothing to keep for a later one.
    """

    counts: NDArray[np.int64]
    numbers: NDArray[np.integer]
    seeds: NDArray[np.uint32]
    rows: tuple[NDArray[np.uint8], ...]
    recount: Recount[StringAnswers] | None = None

    @property
    def reports(self) -> int:
        """Number of reports: the answers, as often as they have come."""
        return int(self.counts.sum())

    def asked(self, number: int) -> StringAnswers:
        """Return the answers to one question."""
        recount = None if self.recount is None else self.recount.asked(number)
        return replace(self.where(self.numbers == number), recount=recount)

    def counted(
        self, count: Count[StringAnswers], beginnings: NDArray[np.integer], endings: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Return the number of answers that support each string, shape (endings, beginnings).

        count: counts the answers that it is given, all of which are to one question.
        """
        if self.recount is None:
            return count(self, beginnings, endings)
        return self.recount.counted(count, self, beginnings, endings)

    def where(self, wanted: NDArray[np.bool_]) -> StringAnswers:
        """Return some of the answers; bool, shape (n,)."""
        return StringAnswers(
            counts=self.counts[wanted],
            numbers=self.numbers[wanted],
            seeds=self.seeds[wanted],
            rows=tuple(row[wanted] for row in self.rows),
        )

    def parts(self, *, most: int) -> Iterator[tuple[int, StringAnswers]]:
        """Yield answers, at most so many together, and a power of two as the number of times that each of them comes.

        An answer belongs to the powers that add up to its count, so that a count costs no more than its digits.
        """
        for digit in range(int(self.counts.max(initial=0)).bit_length()):
            places = np.flatnonzero(self.counts >> digit & 1)
            for start in range(0, len(places), most):
                wanted = places[start : start + most]
                yield (
                    2**digit,
                    StringAnswers(
                        counts=np.ones(len(wanted), dtype=np.int64),
                        numbers=self.numbers[wanted],
                        seeds=self.seeds[wanted],
                        rows=tuple(row[wanted] for row in self.rows),
                    ),
                )


@dataclass(frozen=True, kw_only=True)
class StringQuestions(Allocation, Generic[QuestionT_co]):
    """All questions of a collection of strings. Each user answers one, by the same randomizers.

    A row is the number of the question, u8, the seed, u32 little-endian, and the rows of the randomizers. The number
    and the seed are drawn whatever the user's string is. So the loss of a report is the sum of those of its
    randomizers, whose draws are independent.
    """

    questions: tuple[QuestionT_co, ...]
    randomizers: tuple[Randomizer, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """Bytes of the row of each randomizer."""
        return tuple(-(-randomizer.bits // 8) for randomizer in self.randomizers)

    @property
    def bits(self) -> int:
        """Number of bits of a report."""
        *before, last = self.randomizers
        return 8 * (_HEAD + sum(-(-each.bits // 8) for each in before)) + last.bits

    @property
    def weights(self) -> Sequence[float]:
        return [question.weight for question in self.questions]

    @property
    def epsilon(self) -> float:
        """Privacy loss in nats of one report, for any two strings; never rounded down."""
        return round_up(sum((Fraction(randomizer.epsilon) for randomizer in self.randomizers), Fraction()))

    @property
    def blanket(self) -> Blanket | None:
        """The blanket of a report of one randomizer, whose input the seed changes: no two are alike more rarely."""
        return self.randomizers[0].blanket if len(self.randomizers) == 1 else None

    def inputs(
        self, numbers: NDArray[np.int64], seeds: NDArray[np.uint32], symbols: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Return the input of each randomizer for users who are asked these questions, shape (n, randomizers)."""
        found = np.zeros((len(numbers), len(self.randomizers)), dtype=np.int64)
        for number in np.unique(numbers).tolist():
            users = numbers == number
            found[users] = self.questions[number].inputs(symbols[users], seeds[users])
        return found

    def perturb(
        self, numbers: NDArray[np.int64], seeds: NDArray[np.uint32], inputs: NDArray[np.int64], *, entropy: Entropy
    ) -> NDArray[np.uint8]:
        """Make one report for each of many users: packed rows, uint8, shape (n, ceil(bits / 8)), unused bits 0.

        numbers, seeds: which must not depend on the users' strings, shape (n,).
        inputs: as `inputs` makes them.
        """
        head = np.empty((len(numbers), _HEAD), dtype=np.uint8)
        head[:, 0] = numbers
        head[:, 1:] = np.ascontiguousarray(seeds, dtype="<u4").view(np.uint8).reshape(-1, SEED_BYTES)
        answers = [
            each.perturb(column, entropy=entropy) for each, column in zip(self.randomizers, inputs.T, strict=True)
        ]
        return np.concatenate([head, *answers], axis=1)

    def answers(self, rows: NDArray[np.uint8], counts: NDArray[np.int64] | None = None) -> StringAnswers:
        """Take rows apart.

        counts: how often each has come, shape (n,); once by default.
        """
        starts = np.cumsum([_HEAD, *self.widths])
        return StringAnswers(
            counts=np.ones(len(rows), dtype=np.int64) if counts is None else counts,
            numbers=rows[:, 0],
            seeds=np.ascontiguousarray(rows[:, 1:_HEAD]).view("<u4")[:, 0],
            rows=tuple(rows[:, start:end] for start, end in itertools.pairwise(starts)),
        )

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Decide which rows are reports that `perturb` can make, bool, shape (n,)."""
        answers = self.answers(rows)
        valid: NDArray[np.bool_] = answers.numbers < len(self.questions)
        for each, part in zip(self.randomizers, answers.rows, strict=True):
            valid &= each.valid(part)
        return valid

    def draws(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of reports to each question, shape (questions,).

        rows: distinct rows, and how often each has come.
        """
        return np.bincount(rows[:, 0], weights=counts, minlength=len(self.questions)).astype(np.int64)

    def plausibility(
        self, rows: NDArray[np.uint8], counts: NDArray[np.int64], *, reports_per_user: float
    ) -> PlausibilityTest:
        """Test whether the questions and the seeds are drawn as honest users draw them, whatever they hold.

        Each 4 of the 32 bits of the seeds are compared with a uniform draw. So is the number of pairs of different
        reports with one seed, which are not one user's unless the string has changed; the p-value is that of either
        test (Bonferroni's bound). A report that comes again as it is may be the same user's, and is counted once.

        reports_per_user: sum m^2 / sum m over users with m reports each, who send the same one in all of them.
        """
        drawn = self.draws(rows, counts) / reports_per_user
        pairs = [(drawn, drawn.sum() * self.shares)]
        for byte in rows[:, 1:_HEAD].T:
            for digits in (byte % 16, byte // 16):
                seeds = np.bincount(digits, weights=counts, minlength=16) / reports_per_user
                pairs.append((seeds, np.full(16, seeds.sum() / 16)))
        found = compared([pair for pair in pairs if pair[1].min() >= MIN_EXPECTED])
        if not found.degrees_of_freedom:
            return found
        return replace(found, p_value=min(1.0, 2 * min(found.p_value, _repeats(self.answers(rows).seeds))))


def _repeats(seeds: NDArray[np.uint32]) -> float:
    """Return the probability that as many pairs of different users as these have one seed, or more.

    The number of pairs of equal ones among n uniform seeds is nearly Poisson (the birthday problem).
    """
    # Not imported above: a program that only reads a collection tests nothing, and need not wait for SciPy.
    from scipy.special import pdtrc  # noqa: PLC0415

    _, alike = np.unique(seeds, return_counts=True)
    pairs = float((alike * (alike - 1)).sum() // 2)
    expected = len(seeds) * (len(seeds) - 1) / 2 / 2 ** (8 * SEED_BYTES)
    return float(pdtrc(pairs - 1, expected)) if pairs else 1.0
