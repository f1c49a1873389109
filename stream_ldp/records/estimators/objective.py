"""The objective that the estimators maximise: the log-likelihood of the reports plus a concave log-prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from stream_ldp.records.estimators.likelihood import FloatArray, Likelihood

__all__ = ["Objective", "Point"]

#: End of the search for the best t of a certificate, as a share of the interval up to the pole.
_BELOW_POLE = 1.0 - 1e-9
#: The search ends when a step is below this share of what is left up to the pole: the bound is flat at the best t, so
#: it is off by the square of that. It takes 3 to 6 steps, rarely 15, and any t is good for a bound.
_CLOSE, _NEWTON_STEPS = 1e-6, 50


class Point(NamedTuple):
    """The objective at one joint distribution.

    joint: the distribution.
    step: the distribution that the EM step leads to.
    value: the objective, nats.
    log_likelihood: the likelihood part of it, nats.
    gradient: gradient of the mean log-likelihood of a report, by cell.
    """

    joint: FloatArray
    step: FloatArray
    value: float
    log_likelihood: float
    gradient: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
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

    def at(self, joint: FloatArray) -> Point:
        """Evaluate the EM map once (Dempster, Laird and Rubin, 1977, section 4.1.1 with a Dirichlet prior)."""
        N, s = self.likelihood.reports, self.strength
        log_likelihood, gradient = self.likelihood.score(joint)
        step = (N * joint * gradient + s * self.centre) / (N + s)
        prior = s * float(np.vdot(self.centre, np.log(joint))) if s else 0.0
        return Point(joint, step / step.sum(), log_likelihood + prior, log_likelihood, gradient)

    def certificate(self, point: Point) -> float:
        """Bound max F - F(point) from above, in nats; the bound holds at any point of the simplex.

        By Jensen's inequality, with N reports and g the gradient at P, for every joint Q

            F(Q) - F(P) <= N ln sum_w Q_w g_w + s sum_w C_w ln(Q_w / P_w).

        Without a prior the right side is at most N ln max g. With one, its maximum over Q is bounded by its dual:
        ln x <= ln t + x / t - 1 and the multiplier N + s of sum Q = 1 give, for every t > N max g / (N + s),

            F(Q) - F(P) <= N ln t + s sum_w C_w ln( s C_w / ((N + s - N g_w / t) P_w) ),

        tight where sum_w s C_w / (N + s - N g_w / t) = 1. The bound holds for an inexact t too.
        """
        N, s = self.likelihood.reports, self.strength
        highest = float(point.gradient.max())
        if not s:
            return max(0.0, N * math.log(highest))
        sC, share = s * self.centre.ravel(), point.gradient.ravel() / highest
        # 1 / t = (1 + x s / N) / max g with x in [0, 1): in this form nothing cancels if s is far below N.
        slack = N * (1.0 - share)

        x = 0.0
        for _ in range(_NEWTON_STEPS):
            # At 0 no term exceeds its C_w, and at 1 is the pole. One over the sum is concave and, near the pole,
            # nearly linear, so Newton's steps overshoot once and then come back to the root from above.
            inverse = 1.0 / (s * (1.0 - x * share) + slack)
            parts = sC * inverse
            total = float(parts.sum())
            slope = s * float(np.vdot(parts * inverse, share))
            step = total * (1.0 - total) / slope if slope else 0.0
            x, before = min(max(x + step, 0.0), _BELOW_POLE), x
            if abs(x - before) <= _CLOSE * (1.0 - x):
                break
        terms = sC / (s * (1.0 - x * share) + slack) / point.joint.ravel()
        return max(0.0, N * math.log(highest) - N * math.log1p(x * s / N) + float(sC @ np.log(terms)))
