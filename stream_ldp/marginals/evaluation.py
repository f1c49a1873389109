"""Evaluation of sampled collections: the frequencies of values, and the means of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.evaluation.completion import complete_attributes
from stream_ldp.evaluation.trial import Evaluation, Measured
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.questions.answers import gathered
from stream_ldp.questions.asking import asked_sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stream_ldp.evaluation.trial import Trial
    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.marginals.question import AttributeQuestion
    from stream_ldp.questions.attributes import AskedAttribute
    from stream_ldp.questions.questions import QuestionSet, Table

#: Bits of the reports that are made at once: with a byte for each while a subset is drawn, 8 MiB stay near a core.
_BITS_AT_ONCE = 2**23


def _measure(trial: Trial[SampledCollection]) -> Iterator[Measured]:
    """Measure the frequencies of all attributes with values or candidates, and the means of those with a range.

    mse is the mean squared error of the raw estimates: of the frequencies, or of the means in units in which the
    range is from -1 to 1; mse_expected its expectation by the formulas of the variance, for these users, left out
    where there is none; avd half the sum of |projected - true| frequencies, or the absolute error of a mean. Each is
    the mean over the attributes.
    """
    questions, people = trial.collection.questions, _numbered(trial)
    begun = trial.clock()
    sums = asked_sums(
        questions,
        trial.people,
        entropy=SeededEntropy(trial.noise),
        at_once=max(1, _BITS_AT_ONCE // questions.bits),
    )
    reported = trial.clock() - begun
    attributes = trial.collection.attributes
    for series, of in (
        ("frequency", [place for place, each in enumerate(attributes) if each.range is None]),
        ("mean", [place for place, each in enumerate(attributes) if each.range is not None]),
    ):
        if not of:
            continue
        begun = trial.clock()
        squared, distances = np.array([_errors(questions, sums, of=place, people=people) for place in of]).T
        seconds = reported + trial.clock() - begun
        metrics = {"mse": float(squared.mean()), "avd": float(distances.mean())}
        expected = [_expected(questions, of=place, people=people) for place in of]
        known = [each for each in expected if each is not None]
        if len(known) == len(of):
            metrics["mse_expected"] = float(np.mean(known))
        yield Measured(series, metrics, seconds)


def _numbered(trial: Trial[SampledCollection]) -> Table:
    """Return the users with the number of their candidate in place of a text; all other texts have the next one."""
    attributes = trial.collection.attributes
    dtypes = [(str(place), "<i8" if each.range is None else "<f8") for place, each in enumerate(attributes)]
    people: Table = np.empty(len(trial.people), dtype=dtypes)
    for place, each in enumerate(attributes):
        column = trial.people[str(place)]
        if each.candidates is not None:
            numbers = {text: number for number, text in enumerate(each.candidates)}
            column = [numbers.get(text, len(numbers)) for text in column.tolist()]
        people[str(place)] = column
    return people


def _errors(
    questions: QuestionSet[AttributeQuestion], sums: NDArray[np.int64], *, of: int, people: Table
) -> tuple[float, float]:
    """Return the mean squared error of an attribute's raw estimates, and the distance of the projected ones.

    If nobody was asked about the attribute, every estimate is 0.
    """
    answers = gathered(questions, [(1.0, sums)], of=of)
    attribute, column = _attribute(questions, of), people[str(of)]
    if attribute.range is None:
        truth = np.bincount(column, minlength=len(attribute.labels))[: len(attribute.labels)] / len(people)
        nothing = float((truth**2).mean()), 0.5
    else:
        truth = np.array([float(attribute.scaled(column).mean())])
        nothing = float(truth[0] ** 2), abs(float(truth[0]))
    return answers[0].question.estimate(answers, of=of).errors(truth) if answers else nothing


def _expected(questions: QuestionSet[AttributeQuestion], *, of: int, people: Table) -> float | None:
    """Return the expected squared error of an attribute's raw estimates, mean over its values.

    There is none of candidates, of which some may have no estimate.
    """
    if _attribute(questions, of).candidates is not None:
        return None
    about = [
        (float(share), each)
        for share, each in zip(questions.shares, questions.questions, strict=True)
        if of in each.of
    ]
    return about[0][1].expected_error(about, people[str(of)], of=of)


def _attribute(questions: QuestionSet[AttributeQuestion], of: int) -> AskedAttribute:
    question = next(each for each in questions.questions if of in each.of)
    return question.attributes[question.of.index(of)]


EVALUATION = Evaluation(measure=_measure, complete=complete_attributes)
