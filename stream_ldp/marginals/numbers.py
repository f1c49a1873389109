"""The questions which numbers a user has, and what the answers say of their means and distributions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.marginals.distribution import fit_distribution
from stream_ldp.marginals.estimates import NumberEstimate
from stream_ldp.marginals.question import AttributeQuestion, with_sampling
from stream_ldp.mechanisms import HalfSpaceResponse, PiecewiseResponse
from stream_ldp.mechanisms.piecewise import rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.marginals.distribution import FittedDistribution
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
    """A question of whose answers each estimates a number without bias."""

    @property
    def estimated(self) -> str:
        return "mean"

    @abstractmethod
    def moments(self, answers: Answers[Any], *, of: int) -> tuple[float, float]:
        """Add up the unbiased estimates from all answers to this question, and their squares."""

    @abstractmethod
    def noise(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the estimate from one answer of each of these numbers in [-1, 1], same shape."""

    def distribution(self, answers: Sequence[Answers[Any]]) -> FittedDistribution | None:  # noqa: ARG002
        """Estimate the distribution of the number; None if the answers show a mean only."""
        return None

    def estimate(self, answers: Sequence[Answers[Any]], *, of: int) -> NumberEstimate:
        """See `AttributeQuestion.estimate`.

        The estimate is the mean of the unbiased estimates from all reports. Its variance is their second moment, less
        the squared mean, over the number of reports; the mean is not taken to be beyond the range, or else the error
        of a few equal answers would be 0.
        """
        reports = sum(each.reports for each in answers)
        first = second = 0.0
        for answer in answers:
            sum_of, squares = answer.question.moments(answer, of=of)
            first += sum_of
            second += squares
        mean = first / reports
        variance = max(second / reports - min(max(mean, -1.0), 1.0) ** 2, 0.0)
        return NumberEstimate(
            raw=mean,
            standard_error=float(np.sqrt(variance / reports)),
            fit=partial(self.distribution, answers),
        )

    def expected_error(self, about: Sequence[tuple[float, Any]], column: NDArray[Any], *, of: int) -> float:
        asked = sum(share for share, _ in about)
        numbers = self.attributes[self.of.index(of)].scaled(column)
        noise = sum(share / asked * float(each.noise(numbers).mean()) for share, each in about)
        return with_sampling(noise, held=float(numbers.var()), asked=asked, users=len(column))


@dataclass(frozen=True, kw_only=True)
class NumberQuestion(_MeanQuestion):
    """The question which number the user has, rounded at random to a grid."""

    randomizer: PiecewiseResponse

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:
        """See `Question.inputs`: points of the grid."""
        numbers = self.attributes[0].scaled(table[str(self.of[0])])
        return rounded(numbers, steps=self.randomizer.steps, entropy=entropy)

    def moments(self, answers: Answers[Any], *, of: int) -> tuple[float, float]:  # noqa: ARG002
        """Add up the unbiased estimates from all answers to this question, and their squares."""
        numbers = self.randomizer.numbers
        return float(answers.sums @ numbers), float(answers.sums @ numbers**2)

    def noise(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the estimate from one answer of each of these numbers in [-1, 1], same shape."""
        return self.randomizer.variance(numbers)

    def distribution(self, answers: Sequence[Answers[Any]]) -> FittedDistribution | None:
        """Estimate the distribution of the number; None if the answers show a mean only."""
        return estimate_distribution([(answer.question.randomizer, answer.sums) for answer in answers])

    def variance(self, about: Sequence[tuple[float, Any]]) -> float:
        return worst_variance([(share, each.randomizer) for share, each in about])

    def expected_curve(self, about: Sequence[tuple[float, Any]], *, reports: float) -> Curve | None:
        """See `AttributeQuestion.expected_curve`."""
        mixture = [(share, each.randomizer) for share, each in about]
        points = np.linspace(-1, 1, max(response.inputs for _, response in mixture))
        bell = np.exp(-0.5 * (points / _BELL) ** 2)
        found = expected_distribution(mixture, bell / bell.sum(), reports=reports)
        return None if found is None else found.curve(-1.0, 1.0)

    def leverage(self, about: Sequence[tuple[float, Any]]) -> float:
        """See `AttributeQuestion.leverage`: a liar answers whichever question has the largest numbers."""
        return 1.0 + max(float(np.abs(each.randomizer.numbers).max()) for _, each in about)


@dataclass(frozen=True, kw_only=True)
class EndsQuestion(NumberQuestion):
    """The question which number the user has, rounded to an end of the range by a threshold that the user keeps.

    So a number that changes has two answers at most (alpha-point rounding; Ding et al., 2017, section 4.1). Of many
    users, an answer is what it is with a threshold that is drawn for it alone.
    """

    @property
    def permanent_answers(self) -> int:
        """See `Question.permanent_answers`: one for each end."""
        return 2

    @property
    def shares_answers(self) -> bool:
        return True

    @property
    def meaning(self) -> list[Any]:
        """See `Question.meaning`; that the rounding is permanent is part of it."""
        return [*super().meaning, 0]

    def settled(self, table: Table, *, words: Entropy) -> Table:
        """See `Question.settled`: the end of the range to which the number is rounded."""
        (attribute,), name, least_and_largest = self.attributes, str(self.of[0]), self.attributes[0].range
        settled = table.copy()
        up = rounded(attribute.scaled(table[name]), steps=1, entropy=words)
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
            signs |= rounded(numbers, steps=1, entropy=entropy) << place
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


def worst_variance(mixture: Sequence[tuple[float, PiecewiseResponse]]) -> float:
    """Return the largest variance, over all numbers in [-1, 1], of the estimate from one report of a mixture.

    mixture: weights, and the response that so many of the reports are made with.
    """
    # The variance is quadratic between two points of any grid.
    numbers = np.linspace(-1, 1, 8 * max(response.steps for _, response in mixture) + 1)
    total = sum(weight for weight, _ in mixture)
    variance = sum((weight * response.variance(numbers) for weight, response in mixture), np.zeros(len(numbers)))
    return float(variance.max()) / total


def estimate_distribution(
    on_grids: Sequence[tuple[PiecewiseResponse, NDArray[np.float64]]],
) -> FittedDistribution | None:
    """Estimate the distribution of a number; see `fit_distribution`.

    on_grids: responses, and the sums of the answers that are made with each.

    Returns:
        The distribution over the points of the finest grid and peaks between them; None if answers show a mean only.
    """
    steps = max(response.steps for response, _ in on_grids)
    if steps == 1:
        return None
    # A report comes with each response as often as there are answers by it.
    reports = np.array([sums.sum() for _, sums in on_grids])
    shares = reports / reports.sum()
    channel = np.concatenate(
        [share * _on_grid(response, steps) for share, (response, _) in zip(shares, on_grids, strict=True)], axis=1
    )
    return fit_distribution(channel, np.concatenate([sums for _, sums in on_grids]))


def expected_distribution(
    mixture: Sequence[tuple[float, PiecewiseResponse]], probability: NDArray[np.float64], *, reports: float
) -> FittedDistribution | None:
    """Return the distribution that so many reports estimate if the outcomes come as often as expected.

    mixture: weights, and the response that so many of the reports are made with.
    probability: of the points of the finest grid, shape (steps + 1,).
    """
    total, steps = sum(weight for weight, _ in mixture), len(probability) - 1
    return estimate_distribution(
        [
            (response, reports * weight / total * (probability @ _on_grid(response, steps)))
            for weight, response in mixture
        ]
    )


@lru_cache
def cell_leverage(response: PiecewiseResponse, *, cells: int) -> float:
    """Return the most that one crafted answer moves the share of a cell by, times the number of answers.

    To the first order, an answer moves an estimated distribution by its covariance times the slope of the answer's
    log-likelihood. It is worked out for an even distribution, which has no peaks.

    cells: parts of the range, all of the same width.
    """
    even = np.full(response.inputs, 1 / response.inputs)
    found = expected_distribution([(1.0, response)], even, reports=_MANY)
    if found is None:
        raise ParameterError(f"{response.title} shows no distribution, and no shares of cells")
    moved = _MANY * found.covariance @ (response.channel / (found.probability @ response.channel))
    cell = np.minimum(np.arange(response.inputs) * cells // response.steps, cells - 1)
    of_cells = np.zeros((cells, response.counters))
    np.add.at(of_cells, cell, moved)
    return float(np.abs(of_cells).max())


def _on_grid(response: PiecewiseResponse, steps: int) -> NDArray[np.float64]:
    """Return P(outcome | point of a grid of so many steps), when the point is rounded to the response's own grid."""
    own, grid = np.linspace(0, 1, response.inputs), np.linspace(0, 1, steps + 1)
    return np.stack([np.interp(grid, own, column) for column in response.channel.T], axis=1)
