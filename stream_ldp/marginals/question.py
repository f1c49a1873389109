"""The interface of questions about single attributes: how they are asked, and what is estimated from the answers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_ldp.questions.questions import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.marginals.estimates import AttributeEstimate
    from stream_ldp.pipeline.curve import Curve
    from stream_ldp.questions.answers import Answers


@dataclass(frozen=True, kw_only=True)
class AttributeQuestion(Question):
    """A question about attributes that are each estimated by themselves.

    Where several questions are about an attribute, such as those of its cohorts, they have one class, and the first
    estimates for all: `about` holds for each the share of users who are asked, and the question.
    """

    @property
    @abstractmethod
    def estimated(self) -> str:
        """What is estimated: `frequencies`, `mean`, or `outputs` from which no frequencies follow."""

    @abstractmethod
    def estimate(self, answers: Sequence[Answers[Any]], *, of: int) -> AttributeEstimate:
        """Estimate an attribute from the answers to all questions about it.

        of: position of the attribute.
        """

    @abstractmethod
    def variance(self, about: Sequence[tuple[float, Any]]) -> float:
        """Return the variance of an estimate, times the number of answers, with the sampling of users.

        It is that of a frequency, mean over a uniform population, or the largest of a mean in units in which the
        range is from -1 to 1.
        """

    def expected_curve(self, about: Sequence[tuple[float, Any]], *, reports: float) -> Curve | None:  # noqa: ARG002
        """Return the distribution function of numbers spread as a bell that so many answers show, with its errors.

        The bell is in the middle of a range from -1 to 1 and has a sixth of its width for a standard deviation. None
        where the answers show no distribution.
        """
        return None

    @abstractmethod
    def leverage(self, about: Sequence[tuple[float, Any]]) -> float:
        """Return the most that one crafted answer can add to the sum that an estimate is the mean of.

        See `Leverage.of_one`; of a mean it is in units in which the range is from -1 to 1.
        """

    @abstractmethod
    def expected_error(self, about: Sequence[tuple[float, Any]], column: NDArray[Any], *, of: int) -> float:
        """Return the expected squared error of the raw estimates of an attribute, mean over its values.

        column: what each of the users has, shape (users,).
        of: position of the attribute.
        """


def with_sampling(noise: float, *, held: float, asked: float, users: int) -> float:
    """Return the expected squared error of an estimate if a share s of n users is asked: (V + (1 - s) U) / (s n).

    noise: V, variance of the noise in one answer, mean over the users.
    held: U, variance of what the users hold, which matters only so far as not all of them are asked.
    asked: s.
    users: n.
    """
    return (noise + (1 - asked) * held) / (asked * users)
