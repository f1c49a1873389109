"""Questions: a report says in the clear which one it answers, whatever the data are, and gives one answer to it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import Randomizer
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.plausibility import MIN_EXPECTED, PlausibilityTest, compared, total_score
from stream_ldp.mechanisms.privacy_loss import round_up
from stream_ldp.mechanisms.randomness.allocation import Allocation
from stream_ldp.mechanisms.row_draws import even_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.attributes import AskedAttribute

#: Users, one a row, with a column for each attribute, named by its position.
Table = NDArray[np.void]

#: Most questions: a report says in at most two bytes which one it answers.
MAX_QUESTIONS = 2**16

_ONE_BYTE = 2**8


@dataclass(frozen=True, kw_only=True)
class Question(ABC):
    """A question about one attribute or more, answered through a randomizer at full epsilon.

    of: positions of the attributes.
    attributes: the same attributes themselves.
    randomizer: perturbs the answer.
    weight: the share of users who are asked, relative to that of other questions.
    """

    of: tuple[int, ...]
    attributes: tuple[AskedAttribute, ...]
    randomizer: Randomizer
    weight: float

    @abstractmethod
    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:
        """Return the inputs of the randomizer for users, int64, shape (n,)."""

    @property
    def title(self) -> str:
        """Name of what is answered with, in plans."""
        return self.randomizer.title

    @property
    def loss(self) -> float:
        """Privacy loss in nats of one report, for any two users, whatever they hold."""
        return self.randomizer.epsilon

    @property
    def slots(self) -> int | None:
        """Number of slots from which a user draws the one to answer with; None where nothing is drawn."""
        return None

    @property
    def cost(self) -> Any:
        """What answers cost a user, as the ledger keeps it: one of `ReportCost`."""
        return self.randomizer.cost

    @property
    def meaning(self) -> list[Any]:
        """All that the meaning of an answer depends on, as plain data."""
        return [list(self.of), self.randomizer.kind, self.randomizer.parameters]

    @property
    def permanent_answers(self) -> int | None:
        """Most permanent answers of one user, one for each value or cell; None where values are not in a list."""
        if any(each.values is None for each in self.attributes):
            return None
        return math.prod(len(each.labels) for each in self.attributes)

    def columns(self, table: Table) -> list[NDArray[Any]]:
        """Return what is asked about each attribute: the numbers of values, int64, or numbers, float64."""
        return [table[str(position)] for position in self.of]

    @property
    def shares_answers(self) -> bool:
        """Whether values have their permanent answer in common, as those of a bucket do."""
        return False

    def settled(self, table: Table, *, words: Entropy) -> Table:  # noqa: ARG002
        """Return what a user holds with the decisions that no change of it alters: the same, where there are none.

        table: of the one user.
        words: of the user, for these decisions alone.
        """
        return table

    def held(self, table: Table) -> list[bytes]:
        """Return what each user's permanent answer is made of, as bytes: numbers of values i64, or numbers f64."""
        return [b"".join(value.tobytes() for value in values) for values in zip(*self.columns(table), strict=True)]


QuestionT_co = TypeVar("QuestionT_co", bound=Question, covariant=True)


@dataclass(frozen=True, kw_only=True)
class QuestionSet(Allocation, Generic[QuestionT_co]):
    """All questions of a collection, and the reports that answer one of them each.

    A row begins with the number of its question, in as many bytes as the numbers need: none, one or two. The answer
    follows, with zeros up to the width of the widest. The reports to a question are counted by their number and the
    counters of its randomizer; all these vectors, one after another, are one vector of sums.
    """

    questions: tuple[QuestionT_co, ...]

    @property
    def number_bytes(self) -> int:
        """Number of bytes that say which question is answered."""
        if len(self.questions) == 1:
            return 0
        return 1 if len(self.questions) <= _ONE_BYTE else 2

    @cached_property
    def bits(self) -> int:
        """Number of bits of a report."""
        return 8 * self.number_bytes + max(question.randomizer.bits for question in self.questions)

    @cached_property
    def counters(self) -> int:
        """Length of the vector of sums."""
        return int(self._starts[-1])

    @property
    def weights(self) -> Sequence[float]:
        return [question.weight for question in self.questions]

    @property
    def epsilon(self) -> float:
        """Privacy loss in nats of one report, for any two users, whatever they hold: the largest of all questions."""
        return max(question.loss for question in self.questions)

    @property
    def lifetime(self) -> float:
        """Privacy loss in nats of all reports of a user who always holds the same: the largest of all questions."""
        return self.memoised.epsilon

    @property
    def all_answers(self) -> float | None:
        """Privacy loss in nats of reports that show all permanent answers of a user: the largest of all questions.

        It holds for two users whose values change at the same times. None where reports are the permanent answers
        themselves, and where they may be as many as there are numbers or texts.
        """
        if self.memoised is self:
            return None
        losses = []
        for question in self.memoised.questions:
            if question.permanent_answers is None:
                return None
            losses.append(round_up(question.permanent_answers * Fraction(question.randomizer.epsilon)))
        return max(losses)

    @cached_property
    def blanket(self) -> Blanket | None:
        """The blanket of a report, if it is not known who is asked what; None where an answer's is not known."""
        found = [question.randomizer.blanket for question in self.questions]
        parts = [(share, each) for share, each in zip(self.shares.tolist(), found, strict=True) if each is not None]
        return Blanket.of_one_of(parts) if len(parts) == len(found) else None

    @cached_property
    def memoised(self) -> QuestionSet[QuestionT_co]:
        """The same questions, answered by what users repeat, see `Randomizer.memoised`."""
        if all(question.randomizer.memoised is question.randomizer for question in self.questions):
            return self
        questions = tuple(replace(each, randomizer=each.randomizer.memoised) for each in self.questions)
        return QuestionSet(questions=questions)

    def instantaneous(self, rows: NDArray[np.uint8], *, entropy: Entropy) -> NDArray[np.uint8]:
        """Make reports of what users repeat, see `Randomizer.instantaneous`."""
        if self.memoised is self:
            return rows
        sent, numbers = rows.copy(), self._numbers_of(rows)
        for members in self._families:
            users = np.isin(numbers, members)
            answers, _ = self._answers(rows[users], members[0])
            end = self.number_bytes + answers.shape[1]
            randomizer = self.questions[members[0]].randomizer
            sent[users, self.number_bytes : end] = randomizer.instantaneous(answers, entropy=entropy)
        return sent

    def perturb(self, numbers: NDArray[np.int64], table: Table, *, entropy: Entropy) -> NDArray[np.uint8]:
        """Make one report for each of many users: packed rows, uint8, shape (n, ceil(bits / 8)), unused bits 0.

        numbers: of the questions that they answer, which must not depend on what they hold, shape (n,).
        """
        rows = np.zeros((len(table), -(-self.bits // 8)), dtype=np.uint8)
        for byte in range(self.number_bytes):
            rows[:, byte] = numbers >> (8 * byte)
        order, groups = _in_order(numbers.astype(np.uint16))
        ordered = np.arange(len(table))[order]
        for number, part in groups:
            question, users = self.questions[number], ordered[part]
            inputs = question.inputs(table[users], entropy=entropy)
            answers = question.randomizer.perturb(inputs, entropy=entropy)
            rows[users, self.number_bytes : self.number_bytes + answers.shape[1]] = answers
        return rows

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Decide which rows are reports that `perturb` can make, bool, shape (n,)."""
        numbers = self._numbers_of(rows)
        valid: NDArray[np.bool_] = numbers < len(self.questions)
        for members in self._families:
            users = valid if len(self._families) == 1 else valid & np.isin(numbers, members)
            part = rows if users.all() else rows[users]
            answers, rest = self._answers(part, members[0])
            found = self.questions[members[0]].randomizer.valid(answers)
            valid[users] = found & ~rest.any(axis=1) if rest.shape[1] else found
        return valid

    def sums(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Count valid rows, int64, shape (counters,); the sums of several batches add up."""
        sums = np.zeros(self.counters, dtype=np.int64)
        self.add(rows, to=sums)
        return sums

    def add(self, rows: NDArray[np.uint8], *, to: NDArray[np.int64]) -> None:
        """Add what valid rows count to sums, int64, shape (counters,), in a time that few rows keep short."""
        if self._of_bytes is not None:
            # All rows are counted at once, however many questions there are: a number and an answer make 16 bits.
            pairs = np.ascontiguousarray(rows).view("<u2").reshape(-1)
            counts = np.bincount(pairs, minlength=_ONE_BYTE**2).reshape(_ONE_BYTE, _ONE_BYTE).T
            for members, sums_of_answers in self._of_bytes:
                # Exact, since no product or sum reaches 2^53.
                found = np.rint(counts[members].astype(np.float64) @ sums_of_answers).astype(np.int64)
                for number, each in zip(members, found, strict=True):
                    start, end = self._starts[number : number + 2]
                    to[start] += counts[number].sum()
                    to[start + 1 : end] += each
            return
        order, groups = _in_order(self._numbers_of(rows))
        # To take rows is several times faster than to index them.
        ordered = rows if isinstance(order, slice) else rows.take(order, axis=0)
        for number, part in groups:
            start, end = self._starts[number : number + 2]
            answers, _ = self._answers(ordered[part], number)
            to[start] += len(answers)
            self.questions[number].randomizer.add(answers, to=to[start + 1 : end])

    def part(self, sums: NDArray[Any], number: int) -> tuple[Any, NDArray[Any]]:
        """Return the number of reports to one question, and the sums of its randomizer."""
        start, end = self._starts[number : number + 2]
        return sums[start], sums[start + 1 : end]

    def draws(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return the number of reports to each question, shape (questions,)."""
        return sums[self._starts[:-1]]

    def without(self, numbers: Sequence[int], sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sums as if nobody had answered some questions."""
        rest = sums.copy()
        for number in numbers:
            start, end = self._starts[number : number + 2]
            rest[start:end] = 0
        return rest

    def possible(self, sums: NDArray[np.int64], *, reports: NDArray[np.int64]) -> bool:
        """Decide whether so many reports can have these sums; see `Randomizer.possible`.

        sums: shape (counters,).
        reports: a single number.
        """
        drawn = self.draws(sums)
        if (drawn < 0).any() or (drawn > reports).any() or drawn.sum() != reports:
            return False
        return all(
            self.questions[members[0]].randomizer.possible(
                np.stack([self.part(sums, number)[1] for number in members]), reports=drawn[members]
            )
            for members in self._families
        )

    def plausibility(self, sums: NDArray[Any], *, reports_per_user: float) -> PlausibilityTest:
        """Test whether the questions and the answers are drawn as honest users draw them, whatever they hold.

        Among the answers to a question, the rows of Hadamard matrices are compared with a uniform draw. The number of
        set bits is compared with the mean of an honest one-hot code or Bloom filter.

        reports_per_user: sum m^2 / sum m over users with m reports each, who give the same answer in all of them.
        """
        drawn = self.draws(sums).astype(np.float64) / reports_per_user
        expected = drawn.sum() * self.shares
        pairs, scores = [], []
        if len(expected) and expected.min() >= MIN_EXPECTED:
            pairs.append((drawn, expected))
        for number, question in enumerate(self.questions):
            reports, part = self.part(sums, number)
            if not reports:
                continue
            if (rows := question.randomizer.draws(part)) is not None:
                pairs.append(even_cells(rows / reports_per_user))
            if (bits := question.randomizer.set_bits()) is not None:
                least, largest, variance = (float(reports) * each for each in bits)
                scores.append(
                    total_score(
                        float(part[: question.randomizer.bits].sum()),
                        least=least,
                        largest=largest,
                        variance=variance * reports_per_user,
                    )
                )
        return compared(pairs, scores=scores)

    @cached_property
    def _families(self) -> tuple[list[int], ...]:
        """The numbers of the questions that share a randomizer, such as cohorts, whose rows are checked together."""
        families: dict[Randomizer, list[int]] = {}
        for number, question in enumerate(self.questions):
            families.setdefault(question.randomizer, []).append(number)
        return tuple(families.values())

    @cached_property
    def _of_bytes(self) -> list[tuple[list[int], NDArray[np.float64]]] | None:
        """For each family, the sums of each possible answer of a byte, float64, shape (256, counters).

        None unless a row is a byte for the question and one for the answer.
        """
        if self.number_bytes != 1 or self.bits > 16:
            return None
        answers = np.arange(_ONE_BYTE, dtype=np.uint8)[:, None]
        found = []
        for members in self._families:
            randomizer = self.questions[members[0]].randomizer
            of_answers = np.zeros((_ONE_BYTE, randomizer.counters))
            for answer in np.flatnonzero(randomizer.valid(answers)):
                of_answers[answer] = randomizer.sums(answers[[answer]])
            found.append((members, of_answers))
        return found

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(1 + question.randomizer.counters for question in self.questions)])

    def _numbers_of(self, rows: NDArray[np.uint8]) -> NDArray[np.integer]:
        """Return the number of the question that each row answers, in as few bytes as it has, shape (n,)."""
        if not self.number_bytes:
            return np.zeros(len(rows), dtype=np.uint8)
        if self.number_bytes == 1:
            return rows[:, 0]
        return rows[:, 0] | rows[:, 1].astype(np.uint16) << 8

    def _answers(self, rows: NDArray[np.uint8], number: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the answers in rows that answer one question, and the bytes after them."""
        end = self.number_bytes + -(-self.questions[number].randomizer.bits // 8)
        return rows[:, self.number_bytes : end], rows[:, end:]


def _in_order(numbers: NDArray[np.integer]) -> tuple[NDArray[np.intp] | slice, list[tuple[int, slice]]]:
    """Return an order in which equal numbers are together, and the slice of it for each number that occurs.

    Numbers of at most two bytes are sorted by radix.
    """
    if not len(numbers):
        return slice(None), []
    if (numbers == numbers[0]).all():
        return slice(None), [(int(numbers[0]), slice(0, len(numbers)))]
    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers)
    ends = np.cumsum(counts)
    return order, [
        (number, slice(int(ends[number] - counts[number]), int(ends[number])))
        for number in np.flatnonzero(counts).tolist()
    ]
