"""The solver of collections of key-value data: the frequency of each key, and the mean of its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.pairs.answer import KeyEstimate, KeyMean, PairEstimates, PairPrivacy
from stream_ldp.pipeline.cells import normal_quantile
from stream_ldp.pipeline.published import published_of_window
from stream_ldp.pipeline.window_task import WindowTask, weighted_sums
from stream_ldp.questions.answers import Answers, gathered, too_few
from stream_ldp.questions.plan import published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stream_ldp.pairs.collection import PairsCollection
    from stream_ldp.pairs.question import PairsQuestion
    from stream_ldp.pipeline.window_series import WindowSeries

#: Level of the interval of a frequency that is above 0 if the key has a mean. One in 200 keys that nobody holds has
#: one; at 0.95, the mean squared error of means is down to 0.92 of what is stated, at 0.99 within a few per cent.
_HELD = 0.99

ASSUMPTION = (
    "any two users, whatever keys and numbers they hold; as long as these do not change, every report repeats the "
    "same answer"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairs:
    """The estimates of each key, each float64 of shape (keys,).

    frequency: share of users who hold it; unbiased if no user holds more keys than there are slots.
    frequency_error: standard error of it, with the sampling of users.
    mean: of its numbers as shares of the range, NaN where hardly anybody holds the key.
    mean_error: standard error of it.
    """

    frequency: NDArray[np.float64]
    frequency_error: NDArray[np.float64]
    mean: NDArray[np.float64]
    mean_error: NDArray[np.float64]


def solve(collection: PairsCollection, task: WindowTask[WindowSeries, PairEstimates]) -> PairEstimates:
    """Solve a task about one window."""
    questions = collection.questions
    windows = weighted_sums(task, counters=questions.counters)
    _, current = windows[0]
    answers = gathered(questions, windows, reports_per_user=collection.window.reports_per_user)
    drawn = np.array([[questions.draws(sums).sum()] for _, sums in windows])
    withheld = bool(too_few(drawn, collection)[0])
    plausibility = questions.plausibility(current, reports_per_user=collection.window.reports_per_user)
    return PairEstimates(
        **task.head(collection),
        padding=collection.padding,
        keys=() if withheld or not answers else tuple(_keys(collection, answers[0])),
        withheld=withheld,
        plausibility=plausibility,
        privacy=PairPrivacy(
            epsilon=questions.lifetime,
            assumption=ASSUMPTION,
            published=published_of_window(task, collection, published, plausibility=plausibility),
        ),
    )


def _keys(collection: PairsCollection, answers: Answers[PairsQuestion]) -> Iterator[KeyEstimate]:
    found = pairs_of(answers)
    for place, key in enumerate(collection.attributes):
        least, largest = key.bounds
        mean = None
        if not np.isnan(found.mean[place]):
            raw = least + float(found.mean[place]) * (largest - least)
            error = float(found.mean_error[place]) * (largest - least)
            mean = KeyMean(raw=raw, standard_error=error, projected=min(max(raw, least), largest))
        yield KeyEstimate(
            key=key.name,
            range=key.bounds,
            raw=float(found.frequency[place]),
            standard_error=float(found.frequency_error[place]),
            projected=float(found.frequency[place].clip(0.0, 1.0)),
            mean=mean,
        )


def pairs_of(answers: Answers[PairsQuestion]) -> Pairs:
    """Estimate frequencies and means.

    Let L and H be the shares of the answers that drew the low and the high end of a key, of one of so many slots. Its
    frequency is slots (L + H), and its mean is H / (L + H) of the range. The error of the mean is to the first order.
    A key whose frequency is not above 0 by 2.58 standard errors has no mean: perhaps nobody holds it, and the
    first-order error of a quotient is wrong for a smaller denominator.
    """
    question, oracle = answers.question, answers.question.randomizer
    slots, count = question.padding, len(question.keys)
    shares = oracle.estimate(answers.sums, reports=answers.reports)
    variances = oracle.standard_errors(shares, reports=answers.reports) ** 2
    low, high = shares[0 : 2 * count : 2], shares[1 : 2 * count : 2]
    of_low, of_high = variances[0 : 2 * count : 2], variances[1 : 2 * count : 2]
    both = _covariance(question, low, high) / answers.reports
    frequency = slots * (low + high)
    frequency_error = slots * np.sqrt(np.maximum(of_low + of_high + 2 * both, 0.0))
    held = frequency > normal_quantile(_HELD) * frequency_error
    mean, mean_error = np.full(count, np.nan), np.full(count, np.nan)
    part = (high / np.where(held, low + high, 1.0))[held]
    mean[held] = part
    moved = (1 - part) ** 2 * of_high[held] + part**2 * of_low[held] - 2 * part * (1 - part) * both[held]
    mean_error[held] = np.sqrt(np.maximum(moved, 0.0)) / (low + high)[held]
    return Pairs(frequency=frequency, frequency_error=frequency_error, mean=mean, mean_error=mean_error)


def _covariance(question: PairsQuestion, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance of the estimated shares of both ends of each key, times the number of reports.

    Where both supports do not exclude each other, they are nearly independent, and only the users exclude each other.
    """
    first, second = np.maximum(low, 0.0), np.maximum(high, 0.0)
    if question.excludes:
        p, q = question.randomizer.support
        return np.asarray(-(q + first * (p - q)) * (q + second * (p - q)) / (p - q) ** 2)
    return -first * second
