"""The joint distributions of views as their users' answers show them, without bias and with noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import FrequencyOracle
from stream_ldp.questions.answers import gathered
from stream_ldp.views.question import ViewQuestion
from stream_ldp.views.variance import marginal_variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.questions.questions import QuestionSet

#: Estimated distributions, with the inverse variance of a cell of each, by the ascending positions of the attributes.
MarginalTables = dict[tuple[int, ...], tuple["NDArray[np.float64]", float]]


@dataclass(frozen=True, kw_only=True)
class ViewTable:
    """The joint distribution of a view.

    of: positions of its attributes, ascending.
    reports: number of answers; with memory, or users who repeat theirs, the effective one; above 0.
    frequencies: unbiased, float64, an axis for each attribute, perhaps with more axes before them.
    """

    of: tuple[int, ...]
    oracle: FrequencyOracle
    reports: float
    frequencies: NDArray[np.float64]

    def marginal(self, of: Sequence[int]) -> tuple[NDArray[np.float64], float]:
        """Return the marginal of some of the attributes, ascending, and the inverse variance of one of its cells."""
        axes = len(self.of)
        dropped = tuple(axis - axes for axis, place in enumerate(self.of) if place not in of)
        found: NDArray[np.float64] = self.frequencies.sum(axis=dropped) if dropped else self.frequencies
        cells = int(np.prod(found.shape[found.ndim - len(of) :]))
        return found, self.reports / marginal_variance(self.oracle, cells)

    def noisy(self, truth: NDArray[np.float64], *, repeats: int, generator: np.random.Generator) -> ViewTable:
        """Return tables that as many answers could show of a population, along a new first axis.

        Noise and the sampling of users are normal, with the covariance that they have about `truth`.

        truth: the joint distribution of the view, of its shape.
        """
        p, q = self.oracle.support
        supported = np.clip(q + truth.ravel() * (p - q), 0.0, 1.0)
        deviations = np.sqrt(supported * (1 - supported) / self.reports) / (p - q)
        noise = generator.standard_normal((repeats, supported.size)) * deviations
        if self.oracle.fixed_total:
            variances = deviations**2
            noise -= noise.sum(axis=1, keepdims=True) * variances / variances.sum()
            # What is left has less variance than each cell had; for equal ones, this makes it what it was.
            noise *= np.sqrt(supported.size / (supported.size - 1))
        return ViewTable(
            of=self.of,
            oracle=self.oracle,
            reports=self.reports,
            frequencies=truth + noise.reshape(repeats, *truth.shape),
        )


def view_tables(
    questions: QuestionSet[ViewQuestion],
    windows: Sequence[tuple[float, NDArray[np.int64]]],
    *,
    reports_per_user: float = 1.0,
) -> list[ViewTable]:
    """Return the table of each view that somebody has reported.

    windows: (weight, sums) of each window, see `stream_ldp.questions.answers.gathered`.
    reports_per_user: sum m^2 / sum m over users with m reports each, who repeat their answer.

    """
    found = []
    for each in gathered(questions, windows, reports_per_user=reports_per_user):
        question = each.question
        found.append(
            ViewTable(
                of=question.of,
                oracle=question.randomizer,
                reports=each.reports,
                frequencies=question.randomizer.estimate(each.sums, reports=each.reports).reshape(question.shape),
            )
        )
    return found


def combined(tables: Sequence[ViewTable], *, most: int) -> MarginalTables:
    """Combine the marginals of all tables, of one attribute up to `most`, by their inverse variances."""
    found: MarginalTables = {}
    for table in tables:
        for size in range(1, most + 1):
            for of in combinations(table.of, size):
                marginal, information = table.marginal(of)
                before, known = found.get(of, (0.0, 0.0))
                total = known + information
                found[of] = ((before * known + marginal * information) / total, total)
    return found
