"""Every frequency and every mean of a trial by itself, which figures of the survey show, with the errors of all."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from stream_ldp.evaluation.distance import average_variation_distance
from stream_ldp.evaluation.trial import Measure, Measured, Trial
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.questions.answers import gathered
from stream_ldp.questions.asking import asked_sums

#: Users whose answers are in memory at a time.
_AT_ONCE = 2**17
#: The series with the errors of all answers together.
ALL = "all"


def frequencies(trial: Trial[Any], usual: Measure) -> Iterator[Measured]:
    """Measure each frequency of the only attribute: its truth, `raw` and `projected` estimates; then their errors."""
    (attribute,) = trial.collection.attributes
    begun = trial.clock()
    sums = _sums(trial)
    answers = gathered(trial.collection.questions, [(1.0, sums)], of=0)
    found = answers[0].question.estimate(answers, of=0).message(attribute)
    seconds = trial.clock() - begun
    truth = np.bincount(trial.people["0"], minlength=len(attribute.labels)) / len(trial.people)
    raw, projected = np.array(found.raw), np.array(found.projected)
    for name, *each in zip(attribute.labels, truth, raw, projected, strict=True):
        yield Measured(name, dict(zip(("truth", "raw", "projected"), map(float, each), strict=True)), 0.0)
    errors = {
        "raw_avd": average_variation_distance(raw, truth),
        "projected_avd": average_variation_distance(projected, truth),
    }
    yield Measured(ALL, errors, seconds)


def means(trial: Trial[Any], usual: Measure) -> Iterator[Measured]:
    """Measure each mean, in units of the numbers: its truth, the estimate, and that of the survey; then their errors.

    Harmony, as it is printed, adds up what all users send and multiplies by the number of attributes, whereas the
    product divides by the reports of the attribute.
    """
    attributes = trial.collection.attributes
    begun = trial.clock()
    sums = _sums(trial)
    found = []
    for of, attribute in enumerate(attributes):
        answers = gathered(trial.collection.questions, [(1.0, sums)], of=of)
        mean = answers[0].question.estimate(answers, of=of).message(attribute).mean.raw
        least, largest = attribute.bounds
        middle = (least + largest) / 2
        asked = sum(each.reports for each in answers) / len(trial.people)
        found.append((mean, middle + (mean - middle) * asked * len(attributes)))
    seconds = trial.clock() - begun
    truth = np.array([float(trial.people[str(of)].mean()) for of in range(len(attributes))])
    raw, times_d = np.array(found).T
    for attribute, *each in zip(attributes, truth, raw, times_d, strict=True):
        yield Measured(attribute.name, dict(zip(("truth", "raw", "times_d"), map(float, each), strict=True)), 0.0)
    errors = {
        "raw_error": float(np.abs(raw - truth).mean()),
        "times_d_error": float(np.abs(times_d - truth).mean()),
    }
    yield Measured(ALL, errors, seconds)


def _sums(trial: Trial[Any]) -> Any:
    entropy = SeededEntropy(trial.noise)
    return asked_sums(trial.collection.questions, trial.people, entropy=entropy, at_once=_AT_ONCE)
