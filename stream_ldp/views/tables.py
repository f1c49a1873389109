"""The joint distributions of views as their users' answers show them, without bias and with noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import FrequencyOracle
from stream_ldp.pipeline.curve import Curve
from stream_ldp.questions.answers import gathered
from stream_ldp.questions.questions import QuestionSet
from stream_ldp.views.variance import contrast_noise, contrast_variance, marginal_covariance

#: Least sum of the variances of the cells of a number: where nothing is uncertain, nothing is divided by 0.
_LEAST_VARIANCE = 1e-12

#: Estimated distributions, with the inverse variance of an orthonormal contrast of the cells of each, by the
#: ascending positions of the attributes. Contrasts are what is uncertain of a distribution, whose cells sum to 1.
MarginalTables = dict[tuple[int, ...], tuple["NDArray[np.float64]", float]]


class Told(Protocol):
    """What the answers about a view show.

    of: positions of its attributes, ascending.
    reports: number of answers; with memory, or users who repeat theirs, the effective one; above 0.
    frequencies: of its cells, without bias or nearly so, float64, an axis for each attribute.
    curve: the share of users below each number; None where the answers are about cells.
    """

    @property
    def curve(self) -> Curve | None: ...

    @property
    def frequencies(self) -> NDArray[np.float64]: ...

    @property
    def of(self) -> tuple[int, ...]: ...

    @property
    def reports(self) -> float: ...

    def marginal(self, of: Sequence[int]) -> tuple[NDArray[np.float64], float]:
        """Return the marginal of some of the attributes, ascending, and the inverse variance of a contrast."""
        ...

    def covariance(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance of a marginal, with the sampling of users, shape (cells, cells).

        probability: the marginal itself, shape (cells,).
        """
        ...

    def contrast_variance(
        self, bases: Sequence[NDArray[np.float64]], spread: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the variance of orthonormal contrasts of a marginal, with the sampling of users, shape (contrasts,).

        bases: contrasts of the values of each of its attributes, shape (contrasts, values).
        spread: variance of each contrast among users, shape (contrasts,).
        """
        ...

    def noisy(self, truth: NDArray[np.float64], *, repeats: int, generator: np.random.Generator) -> Told:
        """Return tables that as many answers could show of a population, along a new first axis.

        truth: the joint distribution of the view, of its shape.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class ViewTable:
    """The joint distribution of a view; see `Told`.

    frequencies: unbiased, float64, an axis for each attribute, perhaps with more axes before them.
    """

    curve: ClassVar[None] = None

    of: tuple[int, ...]
    oracle: FrequencyOracle
    reports: float
    frequencies: NDArray[np.float64]

    def marginal(self, of: Sequence[int]) -> tuple[NDArray[np.float64], float]:
        """Return the marginal of some of the attributes, ascending, and the inverse variance of a contrast."""
        axes = len(self.of)
        dropped = tuple(axis - axes for axis, place in enumerate(self.of) if place not in of)
        found: NDArray[np.float64] = self.frequencies.sum(axis=dropped) if dropped else self.frequencies
        cells = int(np.prod(found.shape[found.ndim - len(of) :]))
        return found, self.reports / contrast_variance(self.oracle, cells)

    def covariance(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Told.covariance`."""
        return marginal_covariance(self.oracle, probability) / self.reports

    def contrast_variance(
        self, bases: Sequence[NDArray[np.float64]], spread: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """See `Told.contrast_variance`."""
        cells = math.prod(basis.shape[1] for basis in bases)
        return (contrast_noise(self.oracle, cells) + spread) / self.reports

    def noisy(self, truth: NDArray[np.float64], *, repeats: int, generator: np.random.Generator) -> ViewTable:
        """See `Told.noisy`; noise and the sampling of users are normal, with their covariance about `truth`."""
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


@dataclass(frozen=True, kw_only=True)
class NumberTable:
    """The distribution of a number, with the shares of its cells; see `Told`.

    curve: the share of users below each number.
    edges: of the cells, ascending, shape (cells + 1,).
    frequencies: of the cells, float64, perhaps with an axis before theirs.
    """

    of: tuple[int, ...]
    reports: float
    curve: Curve
    edges: NDArray[np.float64]
    frequencies: NDArray[np.float64]

    @classmethod
    def read(cls, place: int, curve: Curve, edges: NDArray[np.float64], *, reports: float) -> NumberTable:
        """Read the cells off a curve."""
        shares = np.diff(curve.at_bounds(edges)[0])
        return cls(of=(place,), reports=reports, curve=curve, edges=edges, frequencies=shares)

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """What the covariance of the cells is the sum of the products of, shape (components, cells)."""
        return np.diff(self.curve.at_bounds(self.edges)[1], axis=1)

    def marginal(self, of: Sequence[int]) -> tuple[NDArray[np.float64], float]:  # noqa: ARG002
        """See `Told.marginal`."""
        contrasts = len(self.edges) - 2
        return self.frequencies, contrasts / max(float((self.deviations**2).sum()), _LEAST_VARIANCE)

    def covariance(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:  # noqa: ARG002
        """See `Told.covariance`."""
        return self.deviations.T @ self.deviations

    def contrast_variance(
        self,
        bases: Sequence[NDArray[np.float64]],
        spread: NDArray[np.float64],  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """See `Told.contrast_variance`."""
        (basis,) = bases
        found: NDArray[np.float64] = ((self.deviations @ basis.T) ** 2).sum(axis=0)
        return found

    def noisy(self, truth: NDArray[np.float64], *, repeats: int, generator: np.random.Generator) -> NumberTable:
        """See `Told.noisy`; the covariance is that of the estimate."""
        noise = generator.standard_normal((repeats, len(self.deviations))) @ self.deviations
        return replace(self, frequencies=truth + noise)


def view_tables(
    questions: QuestionSet[Any],
    windows: Sequence[tuple[float, NDArray[np.int64]]],
    *,
    reports_per_user: float = 1.0,
) -> list[Told]:
    """Return the table of each view that somebody has reported.

    windows: (weight, sums) of each window, see `stream_ldp.questions.answers.gathered`.
    reports_per_user: sum m^2 / sum m over users with m reports each, who repeat their answer.
    """
    found = gathered(questions, windows, reports_per_user=reports_per_user)
    return [each.question.reported(each) for each in found]


def combined(tables: Sequence[Told], *, most: int) -> MarginalTables:
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
