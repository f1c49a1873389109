"""What the windows before tell of a joint distribution, as the prior of the next one.

The coefficients d_k of the population's joint (basis.py) are random walks: from one window to the next, each moves by
a step of variance v, the drift. So the estimate of the window before is the centre of a prior with the variances

    V_k = s_k + v,

where m_k, s_k are that estimate's coefficient and its mean squared error. This is the filter of the local level model
(Kalman, 1960; Harvey, 1989, section 4.1), with a gain that one Dirichlet prior of strength s can have:

    m_k' = m_k + K_k (y_k - m_k),    K_k = N lambda_k / (N lambda_k + s),    y_k = u_k / lambda_k,

and s is the strength that makes the sum of the squared errors least. The errors are right for any gain.

A share r of the users report in every window, and their permanent responses are the same in each. Of the variance
R_k = (1 - lambda_k) / (N lambda_k) of the noise in y_k, a share pi_k thus never averages out; the rest, and the
sampling of the users who are new, does:

    y_k = d_k + p_k + e_k,    Var p_k = pi_k R_k,    Var e_k = (1 - pi_k) R_k + (1 - r) / N.

With b_k the part of p_k that m_k holds, b_k' = b_k + K_k (1 - b_k), and the mean squared errors about the population
and about the users who reported are

    s_k' = (1 - K_k)^2 V_k + K_k^2 Var e_k                                        (without p_k, which stays),
    a_k' = (1 - K_k)^2 (V_k + (1 - r) / N) + K_k^2 (1 - pi_k) R_k + b_k'^2 pi_k R_k.

The drift is learnt from what each window makes of its prior, y_k - m_k ~ Normal(0, V_k + Var e_k + (1 - b_k)^2 Var
p_k), with older windows counting less. If a window fits no drift seen so far, the population has jumped: that window
is estimated alone, and says nothing of the drift.

Coefficients of two windows are matched by their place. Within an attribute that is the order of lambda, so functions
that change places have nearly equal errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from stream_ldp.records.estimators.prior import Prior
from stream_ldp.records.estimators.solution import Past, Start

if TYPE_CHECKING:
    from stream_ldp.records.estimators.likelihood import FloatArray

__all__ = ["Recurrence", "TemporalPrior", "first_past", "fits"]

#: The values of v that are tried, each 1.7 times the one before: from the sampling error of a billion users to the
#: largest variance that a coefficient can have.
_DRIFTS = np.geomspace(1e-9, 1.0, 40)
#: Weight of what a window says of the drift, relative to the next window. Of 0.8, 0.9 and 0.95 none is better by 1 %.
_FORGETTING = 0.9
#: Odds at which a jump is believed: one window in a hundred is expected to have one.
_ODDS_OF_JUMP = 99.0
#: The strengths that are tried, in users, each 1.26 times the one before.
_STRENGTHS = np.geomspace(1e-3, 1e9, 120)
#: Retained shares below this one are taken for it: what reports say of such a coefficient is less than nothing.
_LEAST_RETAINED = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class Recurrence:
    """How the users of consecutive windows are related.

    returning: r, share of a window's users who report in all windows, in [0, 1].
    permanent: share of a report's noise that is permanent, in [0, 1]: see `Mechanism.permanent_share`.
    elapsed: number of windows since the one before; more than 1 if some had no reports.
    """

    returning: float
    permanent: float
    elapsed: int = 1


def fits(past: Past, sizes: tuple[int, ...]) -> bool:
    """Decide whether this can be the past of a joint of this shape."""
    shapes = {past.joint.shape, past.variances.shape, past.permanent.shape}
    return shapes == {sizes} and past.evidence.shape == _DRIFTS.shape


class _Noise(NamedTuple):
    """The noise of the y_k of one window; arrays have the joint's shape.

    sampling: (1 - r) / N.
    fresh: (1 - pi_k) R_k.
    permanent: pi_k R_k.
    """

    sampling: float
    fresh: FloatArray
    permanent: FloatArray

    @classmethod
    def of(cls, prior: Prior, recurrence: Recurrence) -> Self:
        """Compute it.

        The permanent responses alone retain the share mu = lambda + c (1 - lambda) of an attribute's function, c the
        permanent share of its noise, and for a product of functions the product of their mu.
        """
        N, retained = prior.moments.reports, np.maximum(prior.basis.retained, _LEAST_RETAINED)
        of_permanent: FloatArray = reduce(
            np.multiply.outer,
            [each.retained + recurrence.permanent * (1.0 - each.retained) for each in prior.basis.attributes],
        )
        permanent = recurrence.returning * np.maximum(of_permanent - retained, 0.0) / (N * retained)
        return cls(
            sampling=(1.0 - recurrence.returning) / N,
            fresh=(1.0 - retained) / (N * retained) - permanent,
            permanent=permanent,
        )


def first_past(prior: Prior, joint: FloatArray, recurrence: Recurrence, evidence: FloatArray | None = None) -> Past:
    """Return what the next window takes from a window that was estimated alone.

    prior: the prior of the estimate.
    joint: the estimate.
    evidence: that of earlier windows about the drift, if there were any.
    """
    noise, gain = _Noise.of(prior, recurrence), prior.resolved
    return Past(
        joint=joint,
        variances=(1.0 - gain) ** 2 * prior.variances + gain**2 * (noise.fresh + noise.sampling),
        permanent=gain,
        evidence=np.zeros(len(_DRIFTS)) if evidence is None else evidence,
    )


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class TemporalPrior(Prior):
    """A Dirichlet prior whose centre is the estimate of the window before.

    drift: v, posterior mean.
    jumped: whether the population has moved as never before.
    user_errors, population_errors: a_k' and s_k', see the module; shape of the joint.
    permanent: b_k'.
    evidence: about the drift, as in `Past`, with this window's unless it jumped.
    """

    drift: float
    jumped: bool
    user_errors: FloatArray
    population_errors: FloatArray
    permanent: FloatArray
    evidence: FloatArray

    @classmethod
    def following(cls, past: Past, window: Prior, recurrence: Recurrence) -> Self:
        """Make the prior of a window from the past.

        past: one that fits the window's joint.
        window: the prior that is learnt from the window alone.
        """
        N, basis = window.moments.reports, window.basis
        noise = _Noise.of(window, recurrence)
        # One user of the product rules no cell out: see `Prior`.
        centre = (N * past.joint + basis.product) / (N + 1.0)
        varying = basis.order > 0

        likelihood = _drift_likelihood(window, centre, past, noise, recurrence)
        remembered = _FORGETTING * past.evidence
        weights = _normalised(remembered + likelihood)
        # With equal weights, the drifts are those of a population of which nothing is known.
        scaled = np.exp(likelihood - likelihood.max())
        expected, any_at_all = float(_normalised(remembered) @ scaled), float(scaled.mean())
        jumped = any_at_all > _ODDS_OF_JUMP * expected
        drift = float(weights @ _DRIFTS)
        evidence = remembered if jumped else remembered + likelihood

        variances = past.variances + recurrence.elapsed * drift
        every = _Errors(N=N, retained=basis.retained, variances=variances, held=past.permanent, noise=noise)
        squares = [float(every.about_users(strength)[varying].sum()) for strength in _STRENGTHS]
        strength = float(_STRENGTHS[int(np.argmin(squares))])
        return cls(
            basis=basis,
            moments=window.moments,
            centre=centre,
            strength=strength,
            variances=variances,
            drift=drift,
            jumped=jumped,
            user_errors=every.about_users(strength),
            population_errors=every.about_population(strength),
            permanent=every.permanent(strength),
            evidence=evidence - evidence.max(),
        )

    def helps(self, window: Prior) -> bool:
        """Decide whether an estimate with this prior is expected to err less than with the window's own."""
        varying = self.basis.order > 0
        return not self.jumped and float(self.errors[varying].sum()) < float(window.errors[varying].sum())

    def past(self, joint: FloatArray) -> Past:
        """Return what the next window takes from this one.

        joint: the estimate with this prior.
        """
        return Past(joint=joint, variances=self.population_errors, permanent=self.permanent, evidence=self.evidence)

    @property
    def centre_kind(self) -> Start:
        """See `Prior.centre_kind`."""
        return Start.PREVIOUS

    @property
    def resolved(self) -> FloatArray:
        """K_k: how much of the distance from the past to the reports the estimate goes."""
        weight = self.moments.reports * self.basis.retained
        return weight / (weight + self.strength)

    @property
    def errors(self) -> FloatArray:
        """See `Prior.errors`: a_k'."""
        return self.user_errors

    @property
    def response(self) -> FloatArray:
        """See `Prior.response`."""
        weight = self.moments.reports * self.basis.retained
        return self.moments.reports / (weight + self.strength)


class _Errors(NamedTuple):
    """The errors of an estimate as functions of the strength of its prior; see the module."""

    N: float
    retained: FloatArray
    variances: FloatArray
    held: FloatArray
    noise: _Noise

    def gain(self, strength: float) -> FloatArray:
        return self.N * self.retained / (self.N * self.retained + strength)

    def permanent(self, strength: float) -> FloatArray:
        return self.held + self.gain(strength) * (1.0 - self.held)

    def about_population(self, strength: float) -> FloatArray:
        gain = self.gain(strength)
        return (1.0 - gain) ** 2 * self.variances + gain**2 * (self.noise.fresh + self.noise.sampling)

    def about_users(self, strength: float) -> FloatArray:
        gain = self.gain(strength)
        return (
            (1.0 - gain) ** 2 * (self.variances + self.noise.sampling)
            + gain**2 * self.noise.fresh
            + self.permanent(strength) ** 2 * self.noise.permanent
        )


def _drift_likelihood(
    window: Prior, centre: FloatArray, past: Past, noise: _Noise, recurrence: Recurrence
) -> FloatArray:
    """Compute the log-likelihood of each drift, up to a constant, from one window's distances to its centre."""
    varying = window.basis.order > 0
    N, means, squares = window.moments
    retained = np.maximum(window.basis.retained, _LEAST_RETAINED)
    # A report's product with itself enters as its expectation: see `Evidence`.
    residuals = N * (means - retained * window.basis.coefficients(centre)) ** 2 - (squares - means**2) + retained
    residuals = (residuals / retained)[varying]
    scale = (N * retained)[varying]
    known = past.variances + noise.fresh + noise.sampling + (1.0 - past.permanent) ** 2 * noise.permanent
    known = scale * known[varying]
    likelihood = np.empty(len(_DRIFTS))
    for index, drift in enumerate(_DRIFTS):
        expected = known + scale * (recurrence.elapsed * drift)
        likelihood[index] = -0.5 * float((residuals / expected + np.log(expected)).sum())
    return likelihood


def _normalised(logarithms: FloatArray) -> FloatArray:
    weights: FloatArray = np.exp(logarithms - logarithms.max())
    return weights / float(weights.sum())
