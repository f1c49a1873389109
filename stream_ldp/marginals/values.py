"""The question which value of a list a user has, and frequencies estimated from the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.filtering.shrinkage import FrequencyPrior
from stream_ldp.marginals.estimates import FrequencyEstimate, OutputEstimate
from stream_ldp.marginals.question import AttributeQuestion, with_sampling
from stream_ldp.mechanisms import ValueRandomizer
from stream_ldp.mechanisms.simplex import on_simplex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.answers import Answers
    from stream_ldp.questions.questions import Table

#: Fewest values from which a distribution of frequencies is learnt: fewer carry too little information. Over ten
#: shapes, four epsilons, and 1,000 and 20,000 users, the distance of the nearest distribution falls to 0.93 with 8
#: values, to 0.87 with 12, and to 0.47 with 200; the worst of these settings rises to 1.6 with 8, and to 1.15 with
#: 16.
MIN_LEARNT = 12
#: Floor of an error: estimates without noise are left as they are.
_TINY = 1e-12


def likely_distribution(frequency: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the likeliest distribution given unbiased estimates of all its frequencies.

    Of many values, most estimates are noise, and their nearest distribution (norm-sub; Wang et al., 2020) is mostly
    what noise has made large. So each is first shrunk towards what all of them suggest (`FrequencyPrior`), as far as
    its error leaves it open.

    frequency: the estimates, shape (values,), at least one.
    error: their standard errors, same shape.

    Returns:
        Shares in [0, 1], same shape, whose sum is 1 to rounding.
    """
    if len(frequency) < MIN_LEARNT:
        return on_simplex(frequency)
    errors = np.maximum(error, _TINY)
    return on_simplex(FrequencyPrior.learn(frequency, errors).drawn(frequency, errors).mean)


@dataclass(frozen=True, kw_only=True)
class ValueQuestion(AttributeQuestion):
    """The question which value of a list the user has; it is the only one about its attribute."""

    randomizer: ValueRandomizer

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002
        """See `Question.inputs`: the numbers of the values."""
        column: NDArray[np.int64] = table[str(self.of[0])]
        return column

    @property
    def estimated(self) -> str:
        return "frequencies" if self.randomizer.identifies else "outputs"

    def estimate(self, answers: Sequence[Answers[Any]], *, of: int) -> FrequencyEstimate | OutputEstimate:  # noqa: ARG002
        (given,) = answers
        if not self.randomizer.identifies:
            shares = given.sums / given.reports
            return OutputEstimate(
                rank=self.randomizer.rank,
                shares=shares,
                standard_error=np.sqrt(shares * (1 - shares) / given.reports),
            )
        raw = self.randomizer.estimate(given.sums, reports=given.reports)
        error = self.randomizer.standard_errors(raw, reports=given.reports)
        return FrequencyEstimate(
            raw=raw,
            standard_error=error,
            projected=likely_distribution(raw, error),
            kept=np.ones(len(raw), dtype=np.bool_),
        )

    def variance(self, about: Sequence[tuple[float, Any]]) -> float:  # noqa: ARG002
        return self.randomizer.mean_error

    def leverage(self, about: Sequence[tuple[float, Any]]) -> float:  # noqa: ARG002
        return self.randomizer.leverage

    def expected_error(self, about: Sequence[tuple[float, Any]], column: NDArray[Any], *, of: int) -> float:  # noqa: ARG002
        ((asked, _),) = about
        truth = np.bincount(column, minlength=len(self.attributes[0].labels)) / len(column)
        noise, held = float(self.randomizer.noise(truth).mean()), float((truth * (1 - truth)).mean())
        return with_sampling(noise, held=held, asked=asked, users=len(column))
