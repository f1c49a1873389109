"""The question which value of a list a user has, and frequencies estimated from the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.marginals.estimates import FrequencyEstimate, OutputEstimate
from stream_ldp.marginals.projection import likely_distribution
from stream_ldp.marginals.question import AttributeQuestion, with_sampling
from stream_ldp.mechanisms import ValueRandomizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.answers import Answers
    from stream_ldp.questions.questions import Table


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
