"""Estimators: functions from counted reports to a joint distribution with its error and baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.records.estimators.em import CertifiedEM, PaperEM
from stream_ldp.records.estimators.lasso import PairLasso, PaperLasso
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.lremh import CertifiedLREMH, PaperLREMH
from stream_ldp.records.estimators.prior import Prior
from stream_ldp.records.estimators.problem import Problem
from stream_ldp.records.estimators.solution import Independence, Method, Solution, Start, Stop
from stream_ldp.records.estimators.standard_error import standard_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.mechanisms import Support
    from stream_ldp.pipeline.statistics import RowCounts
    from stream_ldp.records.estimators.likelihood import FloatArray
    from stream_ldp.records.estimators.problem import FitMethod

__all__ = ["Estimator", "estimator"]

#: Level of the test of independence.
_LEVEL = 0.05
#: Standard error of a probability about which nothing is known: the largest possible standard deviation.
_UNKNOWN = 0.5


class Estimator(Protocol):
    """An estimator of joint distributions.

    It is a pure function: the same reports and start give the same solution, bit by bit.
    """

    def estimate(
        self,
        counts: RowCounts,
        *,
        sizes: tuple[int, ...],
        supports: Sequence[Support],
        start: FloatArray | None = None,
    ) -> Solution:
        """Estimate the joint distribution of the attributes whose bits the rows hold, in their order.

        counts: counts of reports, plain or weighted, by the values that they support, one bit for each value. Without
            any report, the estimate is the uniform distribution, with error 0.5 in every cell and not certified.
        sizes: number of values of each attribute; at least one attribute.
        supports: the support of each attribute; see `Support`.
        start: an earlier estimate of the same joint, shape `sizes`, to start from; at least 0 and not 0 everywhere.

        Raises:
            ValueError: the rows do not have one bit for each value, or `start` is not a distribution of that shape.
        """
        ...


def estimator(method: str, *, stop: str, delta: float) -> Estimator:
    """Find the estimator of a name.

    method: em, lasso or lremh.
    stop: certificate (ours) or paper (the published form).
    delta: with stop "paper", end when no cell moves by this much.

    Raises:
        ValueError: the method or the stop is unknown.
        ParameterError: the delta is not positive.
    """
    name, form = Method(method), Stop(stop)
    if not 0.0 < delta < math.inf:
        raise ParameterError(f"delta must be positive, got {delta}")
    forms: dict[tuple[Method, Stop], FitMethod] = {
        (Method.EM, Stop.CERTIFICATE): CertifiedEM(),
        (Method.EM, Stop.PAPER): PaperEM(delta=delta),
        (Method.LASSO, Stop.CERTIFICATE): PairLasso(),
        (Method.LASSO, Stop.PAPER): PaperLasso(),
        (Method.LREMH, Stop.CERTIFICATE): CertifiedLREMH(),
        (Method.LREMH, Stop.PAPER): PaperLREMH(delta=delta),
    }
    return _Estimator(method=name, stop=form, fit=forms[name, form])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Estimator:
    """An estimator that fits a joint by one form of one method, and adds what all of them have in common."""

    method: Method
    stop: Stop
    fit: FitMethod

    def estimate(
        self,
        counts: RowCounts,
        *,
        sizes: tuple[int, ...],
        supports: Sequence[Support],
        start: FloatArray | None = None,
    ) -> Solution:
        likelihood = Likelihood.of(counts, sizes=sizes, supports=supports)
        if start is not None:
            start = _distribution(start, sizes)
        if not likelihood.reports:
            return self._nothing_known(sizes)
        problem = Problem(
            counts=counts, supports=tuple(supports), likelihood=likelihood, prior=Prior.learn(likelihood)
        )
        fit = self.fit.fit(problem, start)
        return Solution(
            joint=fit.joint,
            standard_error=standard_error(problem, fit),
            method=self.method,
            stop=self.stop,
            iterations=fit.iterations,
            certificate=fit.certificate,
            tolerance=problem.tolerance,
            certified=fit.certificate <= problem.tolerance,
            start=fit.start,
            log_likelihood=fit.log_likelihood,
            prior_users=fit.prior_users,
            independence=_independence(problem),
        )

    def _nothing_known(self, sizes: tuple[int, ...]) -> Solution:
        return Solution(
            joint=np.full(sizes, 1.0 / math.prod(sizes)),
            standard_error=np.full(sizes, _UNKNOWN),
            method=self.method,
            stop=self.stop,
            iterations=0,
            certificate=0.0,
            tolerance=0.0,
            certified=False,
            start=Start.UNIFORM,
            log_likelihood=0.0,
            prior_users=0.0,
            independence=Independence(
                marginals=tuple(np.full(size, 1.0 / size) for size in sizes),
                log_likelihood=0.0,
                statistic=0.0,
                degrees_of_freedom=_degrees_of_freedom(sizes),
                p_value=1.0,
                dependent=False,
            ),
        )


def _independence(problem: Problem) -> Independence:
    basis, sizes = problem.prior.basis, problem.likelihood.sizes
    evidence = problem.prior.dependence
    p_value = evidence.p_value()
    return Independence(
        marginals=problem.prior.marginals,
        log_likelihood=problem.likelihood.score(basis.product).log_likelihood,
        statistic=evidence.statistic,
        degrees_of_freedom=_degrees_of_freedom(sizes),
        p_value=p_value,
        dependent=p_value <= _LEVEL,
    )


def _degrees_of_freedom(sizes: tuple[int, ...]) -> int:
    return math.prod(sizes) - 1 - sum(size - 1 for size in sizes)


def _distribution(start: FloatArray, sizes: tuple[int, ...]) -> FloatArray:
    if start.shape != sizes:
        raise ValueError(f"the start has shape {start.shape}, the joint has {sizes}")
    total = float(start.sum())
    if not (np.isfinite(total) and total > 0.0 and start.min() >= 0.0):
        raise ValueError("the start must be finite, at least 0 everywhere and not 0 everywhere")
    return start / total
