"""The objective that the estimators maximise: the log-likelihood of the reports plus a concave log-prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stream_ldp.records.estimators.likelihood import Likelihood, Score
from stream_ldp.records.estimators.patterns import FloatArray

#: End of the search for the best t of a certificate, as a share of the interval up to the pole.
_BELOW_POLE = 1.0 - 1e-9
#: The search ends when a step is below this share of what is left up to the pole: the bound is flat at the best t, so
#: it is off by the square of that. It takes 3 to 6 steps, rarely 15, and any t is good for a bound.
_CLOSE, _NEWTON_STEPS = 1e-6, 50


class Point:
    """The objective at one joint distribution.

    joint: the distribution.
    gradient: gradient of the mean log-likelihood of a report, by cell.
    step: the distribution that the EM step leads to.
    """

    def __init__(self, objective: Objective, joint: FloatArray, score: Score) -> None:
        self.joint = joint
        self.gradient = score.gradient
        self._objective, self._score = objective, score
        step: FloatArray = objective.weight * joint * score.gradient + objective.pull
        step /= np.add.reduce(step, axis=None)
        self.step = step

    @property
    def log_likelihood(self) -> float:
        """The likelihood part of the value, nats."""
        return self._score.log_likelihood

    @cached_property
    def value(self) -> float:
        """The objective, nats."""
        s = self._objective.strength
        prior = s * float(np.vdot(self._objective.centre, np.log(self.joint))) if s else 0.0
        return self.log_likelihood + prior

    def slope(self, direction: FloatArray) -> float:
        """Compute the derivative of the objective along a direction, shape of the joint."""
        N, s = self._objective.likelihood.reports, self._objective.strength
        slope = N * float(np.vdot(self.gradient, direction))
        return slope + s * float(np.vdot(self._objective.centre / self.joint, direction)) if s else slope


@dataclass(frozen=True, kw_only=True, eq=False)
class Objective:
    """The log-posterior of a joint distribution P, in nats:

        F(P) = sum_i ln z_i(P) + s sum_w C_w ln P_w,

    with z_i(P) the likelihood of report i. The second term is a Dirichlet prior with parameters 1 + s C_w, worth `s`
    users who report without noise and are distributed as the centre C. With s = 0, F is the log-likelihood.

    likelihood: likelihood of at least one report.
    centre: C, positive, sums to 1, shape of the joint.
    strength: s, in reports.
    """

    likelihood: Likelihood
    centre: FloatArray
    strength: float

    @cached_property
    def weight(self) -> float:
        """N / (N + s): the part that the reports have in an EM step."""
        return self.likelihood.reports / (self.likelihood.reports + self.strength)

    @cached_property
    def pull(self) -> FloatArray:
        """s C / (N + s): what the prior adds to every EM step."""
        return self.strength / (self.likelihood.reports + self.strength) * self.centre

    def at(self, joint: FloatArray) -> Point:
        """Evaluate the EM map once (Dempster, Laird and Rubin, 1977, section 4.1.1 with a Dirichlet prior)."""
        return Point(self, joint, self.likelihood.score(joint))

    def falls(self, start: Point, end: Point) -> bool:
        """Decide whether the objective is lower at the end than at the start.

        It is concave, so it changes by no more than the slope at the start says, and no less than that at the end.
        Nearly always one of them decides, and then the values, which each take as long as an evaluation of the EM
        map, are not computed.
        """
        way = end.joint - start.joint
        if end.slope(way) >= 0.0:
            return False
        return start.slope(way) < 0.0 or end.value < start.value

    def certificate(self, point: Point, *, sought: float = math.inf) -> float:
        """Bound max F - F(point) from above, in nats; the bound holds at any point of the simplex.

        By Jensen's inequality, with N reports and g the gradient at P, for every joint Q

            F(Q) - F(P) <= N ln sum_w Q_w g_w + s sum_w C_w ln(Q_w / P_w).

        Without a prior the right side is at most N ln max g. With one, its maximum over Q is bounded by its dual:
        For every t > N max g / (N + s), ln x <= ln t + x / t - 1 and the multiplier N + s of sum Q = 1 give

            F(Q) - F(P) <= N ln t + s sum_w C_w ln( s C_w / ((N + s - N g_w / t) P_w) ),

        tight where sum_w s C_w / (N + s - N g_w / t) = 1. The bound holds for an inexact t too.

        sought: nats; infinity is returned at once where the right side at the EM step is already above it.
        """
        N, s = self.likelihood.reports, self.strength
        highest = float(np.maximum.reduce(point.gradient, axis=None))
        if not s:
            return max(0.0, N * math.log(highest))
        if sought < math.inf and self._at_step(point) > sought:
            return math.inf
        sC, share = s * self.centre.ravel(), point.gradient.ravel() / highest
        # 1 / t = (1 + x s / N) / max g with x in [0, 1): in this form nothing cancels if s is far below N.
        level, sloping = s + N * (1.0 - share), s * share

        x = 0.0
        for _ in range(_NEWTON_STEPS):
            # At 0 no term exceeds its C_w, and at 1 is the pole. One over the sum is concave and, near the pole,
            # nearly linear, so Newton's steps overshoot once and then come back to the root from above.
            below = level - x * sloping
            parts = sC / below
            total = float(np.add.reduce(parts))
            slope = float(np.vdot(parts, sloping / below))
            step = total * (1.0 - total) / slope if slope else 0.0
            x, before = min(max(x + step, 0.0), _BELOW_POLE), x
            if abs(x - before) <= _CLOSE * (1.0 - x):
                break
        terms = sC / (level - x * sloping) / point.joint.ravel()
        return max(0.0, N * math.log(highest) - N * math.log1p(x * s / N) + float(np.vdot(sC, np.log(terms))))

    def _at_step(self, point: Point) -> float:
        """Compute the right side of the bound at the EM step: no certificate is below it."""
        N, s = self.likelihood.reports, self.strength
        likelihood = N * math.log(float(np.vdot(point.step, point.gradient)))
        return likelihood + s * float(np.vdot(self.centre, np.log(point.step / point.joint)))
