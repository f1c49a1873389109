"""Questions about a user's numbers, and estimates of means and distributions from the answers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.marginals.distribution import FittedDistribution, fit_distribution
from stream_ldp.marginals.estimates import NumberEstimate
from stream_ldp.marginals.question import AttributeQuestion, with_sampling
from stream_ldp.mechanisms import HalfSpaceResponse, PiecewiseResponse
from stream_ldp.mechanisms.piecewise import rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.pipeline.curve import Curve
    from stream_ldp.questions.answers import Answers
    from stream_ldp.questions.questions import Table

#: Answers for which it is worked out what one of them moves.
_MANY = 1e6

#: Standard deviation of the numbers for which errors of a distribution are planned; their range is from -1 to 1.
_BELL = 1 / 3


@dataclass(frozen=True, kw_only=True)
class _MeanQuestion(AttributeQuestion):
    """A question of whose answers each estimates a number without bias; no other is about its attributes."""

    estimated: ClassVar[str] = "mean"

    @abstractmethod
    def moments(self, answers: Answers[Any], *, of: int) -> tuple[float, float]:
        """Add up the unbiased estimates from all answers to this question, and their squares."""

    @abstractmethod
    def noise(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the estimate from one answer of each of these numbers in [-1, 1], same shape."""

    def distribution(self, answers: Answers[Any]) -> FittedDistribution | None:  # noqa: ARG002
        """Estimate the distribution of the number; None if the answers show a mean only."""
        return None

    def estimate(self, answers: Sequence[Answers[Any]], *, of: int) -> NumberEstimate:
        """See `AttributeQuestion.estimate`.

        The estimate is the mean of the unbiased estimates from all reports. Its variance is their second moment, less
        the squared mean, over the number of reports; the mean is clipped to the range, or else the error of a few
        equal answers would be 0.
        """
        (given,) = answers
        first, second = self.moments(given, of=of)
        mean = first / given.reports
        variance = max(second / given.reports - min(max(mean, -1.0), 1.0) ** 2, 0.0)
        return NumberEstimate(
            raw=mean,
            standard_error=float(np.sqrt(variance / given.reports)),
            fit=partial(self.distribution, given),
        )

    def expected_error(self, about: Sequence[tuple[float, Any]], column: NDArray[Any], *, of: int) -> float:
        ((asked, _),) = about
        numbers = self.attributes[self.of.index(of)].scaled(column)
        noise = float(self.noise(numbers).mean())
        return with_sampling(noise, held=float(numbers.var()), asked=asked, users=len(column))


@dataclass(frozen=True, kw_only=True)
class NumberQuestion(_MeanQuestion):
    """The question which number the user has, rounded at random to a grid."""

    randomizer: PiecewiseResponse

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:
        """See `Question.inputs`: points of the grid."""
        numbers = self.attributes[0].scaled(table[str(self.of[0])])
        return rounded(numbers, ends=self.randomizer.ends, entropy=entropy)

    def moments(self, answers: Answers[Any], *, of: int) -> tuple[float, float]:  # noqa: ARG002
        """Add up the unbiased estimates from all answers to this question, and their squares."""
        numbers = self.randomizer.numbers
        return float(answers.sums @ numbers), float(answers.sums @ numbers**2)

    def noise(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the estimate from one answer of each of these numbers in [-1, 1], same shape."""
        return self.randomizer.variance(numbers)

    def distribution(self, answers: Answers[Any]) -> FittedDistribution | None:
        """Estimate the distribution of the number; None if the answers show a mean only."""
        return estimate_distribution(self.randomizer, answers.sums, steps=self.attributes[0].steps)

    def variance(self, about: Sequence[tuple[float, Any]]) -> float:  # noqa: ARG002
        return self.randomizer.worst_variance

    def expected_curve(self, about: Sequence[tuple[float, Any]], *, reports: float) -> Curve | None:  # noqa: ARG002
        """See `AttributeQuestion.expected_curve`."""
        steps = self.attributes[0].steps
        points = np.linspace(-1, 1, (steps or self.randomizer.steps) + 1)
        bell = np.exp(-0.5 * (points / _BELL) ** 2)
        found = expected_distribution(self.randomizer, bell / bell.sum(), reports=reports, steps=steps)
        return None if found is None else found.curve(-1.0, 1.0)

    def leverage(self, about: Sequence[tuple[float, Any]]) -> float:  # noqa: ARG002
        return 1.0 + float(np.abs(self.randomizer.numbers).max())


@dataclass(frozen=True, kw_only=True)
class EndsQuestion(NumberQuestion):
    """The question which number the user has, rounded to an end of the range by a threshold that the user keeps.

    So a number that changes has two answers at most (alpha-point rounding; Ding et al., 2017, section 4.1). Of many
    users, an answer is what it is with a threshold that is drawn for it alone.
    """

    permanent_answers: ClassVar[int] = 2
    shares_answers: ClassVar[bool] = True

    @property
    def meaning(self) -> list[Any]:
        """See `Question.meaning`; that the rounding is permanent is part of it."""
        return [*super().meaning, 0]

    def settled(self, table: Table, *, words: Entropy) -> Table:
        """See `Question.settled`: the end of the range to which the number is rounded."""
        (attribute,), name, least_and_largest = self.attributes, str(self.of[0]), self.attributes[0].range
        settled = table.copy()
        up = rounded(attribute.scaled(table[name]), ends=(0, 1), entropy=words)
        settled[name] = np.array(least_and_largest, dtype=np.float64)[up]
        return settled


@dataclass(frozen=True, kw_only=True)
class SignsQuestion(_MeanQuestion):
    """The question which numbers the user has, each rounded at random to a sign."""

    randomizer: HalfSpaceResponse

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:
        """See `Question.inputs`: numbers whose bits are the signs."""
        signs = np.zeros(len(table), dtype=np.int64)
        for place, (position, attribute) in enumerate(zip(self.of, self.attributes, strict=True)):
            numbers = attribute.scaled(table[str(position)])
            signs |= rounded(numbers, ends=(0, 1), entropy=entropy) << place
        return signs

    def moments(self, answers: Answers[Any], *, of: int) -> tuple[float, float]:
        """Add up the unbiased estimates from all answers to this question, and their squares."""
        mean = float(self.randomizer.means(answers.sums, reports=answers.reports)[self.of.index(of)])
        return answers.reports * mean, answers.reports * self.randomizer.scale**2

    def noise(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the estimate from one answer of each of these numbers in [-1, 1], same shape."""
        noise: NDArray[np.float64] = self.randomizer.scale**2 - numbers**2
        return noise

    def variance(self, about: Sequence[tuple[float, Any]]) -> float:  # noqa: ARG002
        return self.randomizer.scale**2

    def leverage(self, about: Sequence[tuple[float, Any]]) -> float:  # noqa: ARG002
        return 1.0 + self.randomizer.scale


def estimate_distribution(
    response: PiecewiseResponse, sums: NDArray[np.float64], *, steps: int = 0
) -> FittedDistribution | None:
    """Estimate the distribution of a number from answers; see `fit_distribution`.

    steps: of the range, if numbers are whole steps.

    Returns:
        The distribution over the whole steps or, without them, over as many even points as the grid has and peaks
        between them; None if the answers show a mean only.
    """
    if response.steps == 1:
        return None
    return fit_distribution(_even_channel(response, steps or response.steps), sums, exact=bool(steps))


def expected_distribution(
    response: PiecewiseResponse, probability: NDArray[np.float64], *, reports: float, steps: int = 0
) -> FittedDistribution | None:
    """Return the distribution that so many reports estimate if the outcomes come as often as expected.

    probability: of evenly spaced points, shape (points,).
    steps: see `estimate_distribution`.
    """
    sent = probability @ _even_channel(response, len(probability) - 1)
    return estimate_distribution(response, reports * sent, steps=steps)


@lru_cache
def cell_leverage(response: PiecewiseResponse, *, cells: int) -> float:
    """Return the most that one crafted answer moves the share of a cell by, times the number of answers.

    To the first order, an answer moves an estimated distribution by its covariance times the slope of the answer's
    log-likelihood. It is worked out for an even distribution, which has no peaks.

    cells: parts of the range, all of the same width.
    """
    even = np.full(response.inputs, 1 / response.inputs)
    found = expected_distribution(response, even, reports=_MANY)
    if found is None:
        raise ParameterError(f"{response.title} shows no distribution, and no shares of cells")
    channel = _even_channel(response, response.steps)
    moved = _MANY * found.covariance @ (channel / (found.probability @ channel))
    cell = np.minimum(np.arange(response.inputs) * cells // response.steps, cells - 1)
    of_cells = np.zeros((cells, response.counters))
    np.add.at(of_cells, cell, moved)
    return float(np.abs(of_cells).max())


def _even_channel(response: PiecewiseResponse, steps: int) -> NDArray[np.float64]:
    """Return P(outcome | point) of evenly spaced points, each rounded to the response's own grid."""
    points = np.linspace(-1, 1, steps + 1)
    return np.stack([np.interp(points, response.grid, column) for column in response.channel.T], axis=1)
