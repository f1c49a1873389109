"""Evaluation of sampled collections: the frequencies of values, and the means of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from stream_ldp.evaluation.completion import complete_attributes
from stream_ldp.evaluation.trial import Assumed, Evaluation, Measured, Metric, Trial
from stream_ldp.marginals.answer import Distribution
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.cells import LEVEL, CellKey, Totals, normal_quantile
from stream_ldp.questions.answers import gathered
from stream_ldp.questions.asking import asked_sums, assumed_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.marginals.distribution import FittedDistribution
    from stream_ldp.marginals.question import AttributeQuestion
    from stream_ldp.questions.attributes import AskedAttribute
    from stream_ldp.questions.questions import QuestionSet, Table


#: Ranges of each width, and numbers at which distribution functions are compared.
_RANGES, _GRID = 200, 2_001

#: What two equal numbers may differ by, for the rounding of decimals, as a share of the range.
_OFF = 1e-9

#: Bits of the reports that are made at once: with a byte for each while a subset is drawn, 8 MiB stay near a core.
_BITS_AT_ONCE = 2**23


def _measure(trial: Trial[SampledCollection]) -> Iterator[Measured]:
    """Measure the frequencies of all attributes with values or candidates, and the means of those with a range.

    mse is the mean squared error of the raw estimates: of the frequencies, or of the means in units in which the
    range is from -1 to 1; mse_expected its expectation by the formulas of the variance, for these users, left out
    where there is none; avd half the sum of |projected - true| frequencies, or the absolute error of a mean, and
    avd_expected that of a mean by the formula. Each is the mean over the attributes. Where the answers show
    distributions, see `_of_distribution`.
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
            if series == "mean":
                # Of normal errors around 0.
                metrics["avd_expected"] = float(np.mean(np.sqrt(2.0 / math.pi * np.array(known))))
        yield Measured(series, metrics, seconds)
    begun = trial.clock()
    shown = [
        _of_distribution(_attribute(questions, place), found, people[str(place)])
        for place, found in _distributions(questions, sums)
    ]
    if shown:
        metrics = {name: float(np.mean([each[name] for each in shown])) for name in shown[0]}
        yield Measured("distribution", metrics, reported + trial.clock() - begun)


def _distributions(
    questions: QuestionSet[AttributeQuestion], sums: NDArray[np.int64]
) -> Iterator[tuple[int, FittedDistribution]]:
    """Estimate the distributions of the numbers that anybody was asked about, where the answers show them."""
    for place in sorted({place for question in questions.questions for place in question.of}):
        if _attribute(questions, place).range is not None and (
            answers := gathered(questions, [(1.0, sums)], of=place)
        ):
            found = answers[0].question.estimate(answers, of=place).distribution
            if found is not None:
                yield place, found


def _of_distribution(
    attribute: AskedAttribute, found: FittedDistribution, column: NDArray[np.float64]
) -> dict[str, float]:
    """Measure an estimated distribution.

    wasserstein is the mean distance of the two distribution functions; range_tenth and range_half the mean absolute
    error of the shares of users in 200 ranges, a tenth and half as wide as the attribute's; quantile that of
    the 0.5, 0.95 and 0.99 quantiles, as a share of the range; coverage the share of these ranges that are within 1.96
    standard errors.
    """
    least, largest = attribute.bounds
    message = Distribution.of(found, (0.0, 1.0))
    curve, numbers = message.curve, np.sort((column - least) / (largest - least))

    def below(at: NDArray[np.float64], side: Literal["left", "right"] = "right") -> NDArray[np.float64]:
        return np.searchsorted(numbers, at + (_OFF if side == "right" else -_OFF), side=side) / len(numbers)

    grid = np.linspace(0, 1, _GRID)
    measured = {"wasserstein": float(np.abs(curve.at(grid, side="right")[0] - below(grid)).mean())}
    within = []
    for name, width in (("range_tenth", 0.1), ("range_half", 0.5)):
        lows = np.linspace(0, 1 - width, _RANGES)
        shares, errors = curve.shares(lows, lows + width)
        missed = np.abs(shares - below(lows + width) + below(lows, "left"))
        measured[name] = float(missed.mean())
        within.append(missed <= normal_quantile(LEVEL) * errors)
    wanted = (0.5, 0.95, 0.99)
    missed = np.abs(np.quantile(numbers, wanted) - [curve.quantile(each) for each in wanted])
    return measured | {"quantile": float(missed.mean()), "coverage": float(np.mean(within))}


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

    There is none for candidates, since some may have no estimate.
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


EVALUATION = Evaluation(
    measure=_measure,
    complete=complete_attributes,
    predicts={
        "avd": Metric(
            "the distance of the projected frequencies, or the absolute error of a mean, in units in which its range "
            "is from -1 to 1",
            by="avd_expected",
        ),
        "mse": Metric(
            "the mean squared error of a raw frequency, or of a mean, in these units", falls=1.0, by="mse_expected"
        ),
        "wasserstein": Metric("the mean distance of two distribution functions"),
        "quantile": Metric("the error of a quantile, as a share of the range", needs_table=True),
        "range_tenth": Metric("the error of the share of users in a tenth of the range"),
        "range_half": Metric("the same of half of it"),
    },
    assumed=lambda collection: Assumed(
        collection=collection, like={}, population=assumed_table(collection.attributes)
    ),
    assumes="few values are frequent, and numbers are skewed, most of them in the lower half of their range",
)


def totals(collection: SampledCollection, table: Table) -> Totals:
    """Count the users with each value or candidate, and sum their numbers; see `Kind.totals`.

    table: users, one a row.
    """
    found: dict[tuple[str, CellKey], float] = {}
    for place, attribute in enumerate(collection.attributes):
        column = table[str(place)]
        if attribute.range is not None:
            numbers = {"mean": float(column.sum())}
        elif attribute.candidates is not None:
            numbers = {candidate: float((column == candidate).sum()) for candidate in attribute.candidates}
        else:
            counts = np.bincount(column, minlength=len(attribute.labels)).astype(np.float64)
            numbers = dict(zip(attribute.labels, counts.tolist(), strict=True))
        found |= {("marginals", (attribute.name, (name,))): number for name, number in numbers.items()}
    return found
