"""Evaluation of questions on a known population that answers with noise, again and again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.mechanisms.randomness.repeats import each_repeat
from stream_ldp.questions.answers import gathered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.marginals.question import AttributeQuestion
    from stream_ldp.questions.questions import QuestionSet, Table

__all__ = ["Candidate", "Score", "Trial", "scores", "trials"]

#: Bits of the reports that are made at once: with a byte for each while a subset is drawn, 8 MiB stay near a core.
_BITS_AT_ONCE = 2**23


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """Questions to be evaluated.

    oracle: the name by which they are asked for.
    epsilon: what they are asked for with, in nats.
    """

    oracle: str
    epsilon: float
    questions: QuestionSet[AttributeQuestion]


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One estimate of one repeat; errors are to the truth of the repeat's own users.

    mse: mean squared error of the raw estimates: of the frequencies, or of the means in units in which the range is
        from -1 to 1.
    mse_expected: its expectation by the formulas of the variance, for these users.
    avd: half the sum of |projected - true| frequencies, mean over the attributes; of means, their mean absolute
        error.
    seconds: time to perturb, count and estimate.
    """

    mse: float
    mse_expected: float
    avd: float
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The means over all repeats of a candidate, see `Trial`."""

    oracle: str
    epsilon: float
    mse: float
    mse_expected: float
    avd: float
    seconds: float


def trials(
    population: Table,
    *,
    candidates: Sequence[Candidate],
    users: int,
    repeats: int,
    seed: int,
    clock: Callable[[], float],
) -> Iterator[tuple[Candidate, Trial]]:
    """Run every candidate on every repeat.

    Each repeat draws users and noise of its own; the seed determines both.

    population: users, one a row.
    users: number of users in a repeat, drawn with replacement only if there are fewer rows.
    clock: returns seconds, from any origin.
    """
    for drawn, noise in each_repeat(repeats, rows=len(population), users=users, seed=seed):
        people = population[drawn]
        for candidate in candidates:
            yield candidate, _trial(candidate.questions, people, seed=noise, clock=clock)


def scores(outcomes: Iterable[tuple[Candidate, Trial]]) -> list[Score]:
    """Make one score for each candidate, in the order in which they first appear."""
    by_candidate: dict[tuple[str, float], list[Trial]] = {}
    for candidate, each in outcomes:
        by_candidate.setdefault((candidate.oracle, candidate.epsilon), []).append(each)
    return [
        Score(
            oracle=oracle,
            epsilon=epsilon,
            **{each.name: float(np.mean([getattr(trial, each.name) for trial in repeats])) for each in fields(Trial)},
        )
        for (oracle, epsilon), repeats in by_candidate.items()
    ]


def _trial(
    questions: QuestionSet[AttributeQuestion],
    people: Table,
    *,
    seed: np.random.SeedSequence,
    clock: Callable[[], float],
) -> Trial:
    entropy = SeededEntropy(seed)
    begun = clock()
    sums = np.zeros(questions.counters, dtype=np.int64)
    step = max(1, _BITS_AT_ONCE // questions.bits)
    for first in range(0, len(people), step):
        part = people[first : first + step]
        numbers = questions.numbers(random_words(len(part), entropy=entropy))
        sums += questions.sums(questions.perturb(numbers, part, entropy=entropy))
    found = [
        _errors(questions, sums, of=place, people=people)
        for place in range(max(place for each in questions.questions for place in each.of) + 1)
    ]
    seconds = clock() - begun
    squared, distances = zip(*found, strict=True)
    expected = [_expected(questions, of=place, people=people) for place in range(len(found))]
    return Trial(
        mse=float(np.mean(squared)),
        mse_expected=float(np.mean(expected)),
        avd=float(np.mean(distances)),
        seconds=seconds,
    )


def _errors(
    questions: QuestionSet[AttributeQuestion], sums: NDArray[np.int64], *, of: int, people: Table
) -> tuple[float, float]:
    """Return the mean squared error of an attribute's raw estimates, and the distance of the projected ones.

    If nobody was asked about the attribute, every estimate is 0.
    """
    answers = gathered(questions, [(1.0, sums)], of=of)
    column = people[str(of)]
    if column.dtype.kind == "i":
        truth = np.bincount(column, minlength=_values(questions, of)) / len(people)
        return (
            answers[0].question.estimate(answers, of=of).errors(truth) if answers else (float((truth**2).mean()), 0.5)
        )
    (attribute,) = {each.attributes[each.of.index(of)] for each in questions.questions if of in each.of}
    mean = float(attribute.scaled(column).mean())
    return answers[0].question.estimate(answers, of=of).errors(np.array([mean])) if answers else (mean**2, abs(mean))


def _expected(questions: QuestionSet[AttributeQuestion], *, of: int, people: Table) -> float:
    """Return the expected squared error of an attribute's raw estimates, mean over its values."""
    about = [
        (float(share), each)
        for share, each in zip(questions.shares, questions.questions, strict=True)
        if of in each.of
    ]
    return about[0][1].expected_error(about, people[str(of)], of=of)


def _values(questions: QuestionSet[AttributeQuestion], of: int) -> int:
    """Return the number of values of an attribute."""
    question = next(each for each in questions.questions if of in each.of)
    return len(question.attributes[question.of.index(of)].labels)
