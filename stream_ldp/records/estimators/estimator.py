"""Estimators: functions from counted reports to a joint distribution with its error and baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.records.estimators import population
from stream_ldp.records.estimators.em import CertifiedEM, PaperEM
from stream_ldp.records.estimators.lasso import PairLasso, PaperLasso
from stream_ldp.records.estimators.likelihood import Likelihood, possible
from stream_ldp.records.estimators.lremh import CertifiedLREMH, PaperLREMH
from stream_ldp.records.estimators.prior import INDEPENDENCE_LEVEL, Prior
from stream_ldp.records.estimators.problem import Problem
from stream_ldp.records.estimators.solution import Errors, Independence, Method, Past, Solution, Start, Stop, Temporal
from stream_ldp.records.estimators.standard_error import errors_of
from stream_ldp.records.estimators.temporal import filter_window, first_past, fits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.mechanisms import Support
    from stream_ldp.pipeline.statistics import RowCounts
    from stream_ldp.records.estimators.patterns import FloatArray
    from stream_ldp.records.estimators.problem import Fit, FitMethod
    from stream_ldp.records.estimators.temporal import Recurrence

#: Standard error of a probability about which nothing is known: the largest possible standard deviation.
_UNKNOWN = 0.5


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
    return Estimator(method=name, stop=form, fit=forms[name, form])


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimator:
    """An estimator of joint distributions: one form of one method, and what all of them have in common.

    It is a pure function: the same reports and start give the same solution, bit by bit.
    """

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
        past: Past | None = None,
        recurrence: Recurrence | None = None,
        odds: FloatArray | None = None,
        factor: Sequence[FloatArray] | None = None,
    ) -> Solution:
        """Estimate the joint distribution of the attributes whose bits the rows hold, in their order.

        counts: counts of reports, plain or weighted, by the values that they support, one bit for each value. Without
            any report, the estimate is the uniform distribution, with error 0.5 in every cell and not certified.
        sizes: number of values of each attribute; at least one attribute.
        supports: the support of each attribute; see `Support`.
        start: an earlier estimate of the same joint, shape `sizes`, to start from; at least 0 and not 0 everywhere.
        past: what the previous window leaves to this one; None if there was none. Used with `recurrence` alone.
        recurrence: how the users of the windows are related, to learn from previous windows; None to estimate from
            these reports alone.
        odds: where reports are linked, the odds that all reports of each user give to each value, shape (users, sum
            of sizes); see `Likelihood.of_linked`. The estimate is then that of these users, and `counts` matters for
            the start alone.
        factor: what each value of each attribute has of a hidden factor that more attributes have in common, one
            array of shape (size,) an attribute; see `hidden_factor`. None to learn from these attributes alone.

        Raises:
            ValueError: the rows do not have one bit for each value, `start` is not a distribution of that shape, or
                `past` is of another shape.
            ParameterError: there are odds, and the method has no likelihood, or there is a recurrence.
        """
        if odds is not None and recurrence is not None:
            raise ParameterError("windows of linked reports do not learn from each other")
        if odds is None:
            counts = possible(counts, sizes=sizes, supports=supports)
            likelihood = Likelihood.of(counts, sizes=sizes, supports=supports)
        elif self.method is not Method.LASSO and self.stop is Stop.CERTIFICATE:
            likelihood = Likelihood.of_linked(odds, sizes=sizes)
        else:
            raise ParameterError(f"{self.method} with the stop {self.stop} cannot use links of reports")
        if start is not None:
            start = _distribution(start, sizes)
        if past is not None and not fits(past, sizes):
            raise ValueError(f"the past has another shape than the joint, {sizes}")
        if not likelihood.reports:
            return self._nothing_known(sizes)
        problem = Problem(
            counts=counts,
            supports=tuple(supports),
            likelihood=likelihood,
            prior=Prior.learn(likelihood, factor=factor),
        )
        independence, alone = _independence(problem), self.fit.fit(problem, start)
        if recurrence is None:
            return self._solution(problem, alone, independence)
        return self._learnt(problem, alone, start, independence, past=past, recurrence=recurrence, factor=factor)

    def _learnt(
        self,
        problem: Problem,
        alone: Fit,
        start: FloatArray | None,
        independence: Independence,
        *,
        past: Past | None,
        recurrence: Recurrence,
        factor: Sequence[FloatArray] | None,
    ) -> Solution:
        """Estimate with the previous windows as a prior; alone if there are none, or they add nothing."""
        window = problem.prior
        filtered = None if past is None else filter_window(past, window, recurrence)
        users, combined = 0.0, None
        known = None if past is None or not alone.prior_users else past.population
        if filtered is None or filtered.drift.jumped:
            left, known = first_past(window, recurrence, None if filtered is None else filtered.drift.evidence), None
        else:
            left, worth = filtered.past, filtered.worth(window)
            if known is None or not population.has_few(problem, known, worth=worth):
                combined = filtered.combined_problem(problem, factor=factor)
                users = 0.0 if combined is None else combined.users
                if population.is_reached(problem, worth=worth, users=users):
                    known = None
            if known is not None:
                users = (worth - 1.0) * window.moments.reports
                known = population.moved(known, filtered.drift.variance * recurrence.elapsed)
        if known is not None:
            of_users = population.of_users(problem, known)
            found = self.fit.fit(of_users, start)
            errors = population.errors_of(problem, known, found.joint)
            solution = self._solution(of_users, found, independence, errors=errors)
            fitted = self.fit.fit(population.of_population(problem, known), solution.joint)
            known = population.updated(problem, known, fitted.joint)
        else:
            if combined is None:
                solution = self._solution(problem, alone, independence)
            else:
                found = self.fit.fit(combined.problem, alone.joint if start is None else start)
                solution = self._solution(combined.problem, found, independence)
                solution = replace(solution, log_likelihood=problem.likelihood.log_likelihood(solution.joint))
            known = population.estimated(
                problem, solution.joint, solution.standard_error, returning=recurrence.returning
            )
        temporal = Temporal(
            alone=alone.joint,
            users=users,
            drift=None if filtered is None else filtered.drift.variance,
            jumped=filtered is not None and filtered.drift.jumped,
            past=replace(left, population=known),
        )
        return replace(solution, temporal=temporal)

    def _solution(
        self, problem: Problem, fit: Fit, independence: Independence, *, errors: Errors | None = None
    ) -> Solution:
        """Describe a fit.

        errors: those of the joint, if they are not those of the fit.
        """
        return Solution(
            joint=fit.joint,
            **(errors or errors_of(problem, fit))._asdict(),
            method=self.method,
            stop=self.stop,
            iterations=fit.iterations,
            certificate=fit.certificate,
            tolerance=problem.tolerance,
            certified=fit.certificate <= problem.tolerance,
            start=fit.start,
            log_likelihood=fit.log_likelihood,
            prior_users=fit.prior_users,
            prior_centre=problem.prior.centre_kind if fit.prior_users else None,
            independence=independence,
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
            prior_centre=None,
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
    prior, sizes = problem.prior, problem.likelihood.sizes
    return Independence(
        marginals=prior.marginals,
        log_likelihood=problem.likelihood.log_likelihood(prior.basis.product),
        statistic=prior.dependence.statistic,
        degrees_of_freedom=_degrees_of_freedom(sizes),
        p_value=prior.p_value,
        dependent=prior.p_value <= INDEPENDENCE_LEVEL,
        may_be_function=prior.may_be_function,
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
