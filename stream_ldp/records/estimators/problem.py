"""The input and output of a method of estimation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from stream_ldp.mechanisms import Support
    from stream_ldp.pipeline.statistics import RowCounts
    from stream_ldp.records.estimators.likelihood import Likelihood
    from stream_ldp.records.estimators.patterns import FloatArray
    from stream_ldp.records.estimators.prior import Prior
    from stream_ldp.records.estimators.solution import Start

#: Share of the expected squared error of an estimate that stopping before the optimum may add.
_ADDED_ERROR = 0.001


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Problem:
    """At least one report, with their likelihood and the prior learnt from them."""

    counts: RowCounts
    supports: tuple[Support, ...]
    likelihood: Likelihood
    prior: Prior

    @property
    def tolerance(self) -> float:
        """Largest certificate, in nats, of an estimate that is as good as the optimum.

        The objective is nearly quadratic at its maximum: a point d nats below it has a squared distance of 2 d from
        it, in posterior standard deviations. The expected squared distance of the truth is one for each
        coefficient that the reports resolve.
        """
        return 0.5 * _ADDED_ERROR * float(self.prior.resolved.sum())


class Fit(NamedTuple):
    """A fitted joint; the fields are those of `Solution`.

    shrunk: whether the joint is shrunk by the prior, so that its error is that of the posterior.
    """

    joint: FloatArray
    start: Start
    iterations: int
    certificate: float
    log_likelihood: float
    prior_users: float
    shrunk: bool


class FitMethod(Protocol):
    """One form of one method."""

    def fit(self, problem: Problem, start: FloatArray | None) -> Fit:
        """Fit the joint.

        start: the previous estimate, at least 0 and summing to 1; None if there is none.
        """
        ...
