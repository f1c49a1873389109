"""What a method is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from stream_ldp.mechanisms import Support
    from stream_ldp.pipeline.statistics import RowCounts
    from stream_ldp.records.estimators.likelihood import FloatArray, Likelihood
    from stream_ldp.records.estimators.prior import Prior
    from stream_ldp.records.estimators.solution import Start

__all__ = ["Fit", "FitMethod", "Problem"]

#: What stopping before the top may add to the expected squared error of an estimate.
_ADDED_ERROR = 0.001


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Problem:
    """At least one report, and what they say before any joint is fitted."""

    counts: RowCounts
    supports: tuple[Support, ...]
    likelihood: Likelihood
    prior: Prior

    @property
    def tolerance(self) -> float:
        """Nats within which an estimate is as good as the best.

        The objective is about quadratic near its top: d nats below it is at 2 d from it in squared posterior standard
        deviations, where the truth is expected at one for each coefficient that the reports resolve.
        """
        return 0.5 * _ADDED_ERROR * float(self.prior.resolved.sum())


class Fit(NamedTuple):
    """A fitted joint; the fields are those of `Solution`.

    shrunk: whether the prior has drawn the joint, so that its error is the posterior's.
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
        """Fit the joint; `start` is the previous estimate, positive somewhere, or None."""
        ...
