"""Expectation maximisation (Chu, Long and Liu, 2022, section 4.4)."""

import numpy as np

from stream_ldp.records.estimators.objective import Objective
from stream_ldp.records.estimators.patterns import FloatArray
from stream_ldp.records.estimators.problem import Fit, Problem
from stream_ldp.records.estimators.solution import Start
from stream_ldp.records.estimators.squarem import ascend

#: Share of the prior's centre in every start. EM multiplies, so a cell that the start lacks must begin above 0, and
#: the nearer to 0, the longer it takes. With little noise (f = 0.01, 20,000 reports, 64 cells) a start without the
#: most probable quarter of the cells is certified after 5 evaluations, as a cold one is, and after 7 with a share of
#: 1e-9; where noise is what takes the time, the share makes no difference.
_FLOOR = 0.05
#: Most steps of the paper's rule, which takes tens.
_STEPS = 10_000


class CertifiedEM:
    """EM with a learnt prior, from the prior's centre or the previous estimate."""

    def fit(self, problem: Problem, start: FloatArray | None) -> Fit:
        """Climb to the mode of the posterior."""
        if start is not None:
            return climb(problem, start, Start.PREVIOUS)
        return climb(problem, problem.prior.centre, problem.prior.centre_kind)


class PaperEM:
    """The paper's form of EM, which always starts from the uniform distribution, since its rule stops early.

    delta: stop when no cell moves by this much.
    """

    def __init__(self, *, delta: float) -> None:
        self._delta = delta

    def fit(self, problem: Problem, start: FloatArray | None) -> Fit:  # noqa: ARG002
        """Iterate until no cell moves by delta."""
        sizes = problem.likelihood.sizes
        return iterate(problem, np.full(sizes, 1.0 / np.prod(sizes)), Start.UNIFORM, self._delta)


def climb(problem: Problem, start: FloatArray, label: Start) -> Fit:
    """Maximise the log-posterior with SQUAREM, from a mixture of `start` and the prior's centre."""
    prior = problem.prior
    objective = Objective(likelihood=problem.likelihood, centre=prior.centre, strength=prior.strength)
    begin = (1.0 - _FLOOR) * start + _FLOOR * prior.centre
    point, certificate, evaluations = ascend(objective, begin, tolerance=problem.tolerance)
    return Fit(
        joint=point.joint,
        start=label,
        iterations=evaluations,
        certificate=certificate,
        log_likelihood=point.log_likelihood,
        prior_users=prior.strength,
        shrunk=True,
    )


def iterate(problem: Problem, start: FloatArray, label: Start, delta: float) -> Fit:
    """Iterate plain EM steps until max |P_t - P_(t-1)| < delta; a cell that starts at 0 stays there.

    The paper prints the condition inverted and with the difference of the maxima; this is what it must mean.
    """
    objective = Objective(likelihood=problem.likelihood, centre=problem.prior.centre, strength=0.0)
    point = objective.at(start)
    steps = 1
    while np.abs(point.step - point.joint).max() >= delta and steps < _STEPS:
        point = objective.at(point.step)
        steps += 1
    last = objective.at(point.step)
    return Fit(
        joint=last.joint,
        start=label,
        iterations=steps,
        certificate=objective.certificate(last),
        log_likelihood=last.log_likelihood,
        prior_users=0.0,
        shrunk=False,
    )
