"""What the windows before tell of a joint distribution, as the prior of the next one.

The coefficients d_k of the population's joint (basis.py) follow a local level model with steps of variance v, whose
notation is that of `stream_ldp.pipeline.local_level`. The estimate of the window before is the centre of a Dirichlet
prior of one strength s, so the gains and the window's own estimates are

    K_k = N lambda_k / (N lambda_k + s),    y_k = u_k / lambda_k,

and s is the strength that makes the sum of the squared errors about the users who reported least. The errors are
right for any gain.

A share r of the users report in every window, and their permanent responses are the same in each. Of the variance
R_k = (1 - lambda_k) / (N lambda_k) of the noise in y_k, a share pi_k thus never averages out:

    Var p_k = pi_k R_k,    Var e_k = (1 - pi_k) R_k + (1 - r) / N.

The errors about the users who reported, not the population, are

    a_k' = (1 - K_k)^2 (V_k + (1 - r) / N) + K_k^2 (1 - pi_k) R_k + b_k'^2 pi_k R_k.

How far the first window's prior was from the truth is known to it by a mean v alone, and it may be much more (see
`Evidence.expected_errors`). The gains take the mean, and so does the choice between this prior and the window's own;
the errors that are told have the difference w_k besides, as far as it is left:

    w_k' = (1 - K_k)^2 w_k.

Coefficients of two windows are matched by their place. Within an attribute that is the order of lambda, so functions
that change places have nearly equal errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.pipeline.local_level import DRIFTS, Drift, Errors, Noise
from stream_ldp.records.estimators.basis import LEAST_RETAINED
from stream_ldp.records.estimators.prior import Prior
from stream_ldp.records.estimators.solution import Past, Start

if TYPE_CHECKING:
    from stream_ldp.records.estimators.likelihood import FloatArray

__all__ = ["Recurrence", "TemporalPrior", "first_past", "fits"]

#: The strengths that are tried, in users, each 1.26 times the one before.
_STRENGTHS = np.geomspace(1e-3, 1e9, 120)


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
    shapes = {past.joint.shape, past.variances.shape, past.permanent.shape, past.doubt.shape}
    return shapes == {sizes} and past.evidence.shape == DRIFTS.shape


def _noise(prior: Prior, recurrence: Recurrence) -> Noise:
    """Compute the noise of the y_k of one window.

    The permanent responses alone retain the share mu = lambda + c (1 - lambda) of an attribute's function, c the
    permanent share of its noise, and for a product of functions the product of their mu.
    """
    N, retained = prior.moments.reports, np.maximum(prior.basis.retained, LEAST_RETAINED)
    of_permanent: FloatArray = reduce(
        np.multiply.outer,
        [each.retained + recurrence.permanent * (1.0 - each.retained) for each in prior.basis.attributes],
    )
    permanent = recurrence.returning * np.maximum(of_permanent - retained, 0.0) / (N * retained)
    return Noise(
        sampling=np.full(retained.shape, (1.0 - recurrence.returning) / N),
        fresh=(1.0 - retained) / (N * retained) - permanent,
        permanent=permanent,
    )


def first_past(prior: Prior, joint: FloatArray, recurrence: Recurrence, evidence: FloatArray | None = None) -> Past:
    """Return what the next window takes from a window that was estimated alone.

    prior: the prior of the estimate.
    joint: the estimate.
    evidence: that of earlier windows about the drift, if there were any.
    """
    noise, gain = _noise(prior, recurrence), prior.resolved
    # Users who return are the population; those who happen to report are as far from the prior's centre as any.
    spread = prior.mean_variances + recurrence.returning / prior.moments.reports
    return Past(
        joint=joint,
        variances=(1.0 - gain) ** 2 * spread + gain**2 * (noise.fresh + noise.sampling),
        permanent=gain,
        doubt=np.maximum(prior.cautious_errors - prior.errors(prior.mean_variances), 0.0),
        evidence=np.zeros(len(DRIFTS)) if evidence is None else evidence,
    )


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class TemporalPrior(Prior):
    """A Dirichlet prior whose centre is the estimate of the window before.

    drift: v, posterior mean.
    jumped: whether the population has moved as never before.
    population_errors: s_k', see the module; shape of the joint. Its `cautious_errors` are a_k' + w_k', which have
        the doubt about the drift too.
    permanent: b_k'.
    doubt: w_k'.
    evidence: about the drift, as in `Past`, with this window's unless it jumped.
    """

    drift: float
    jumped: bool
    population_errors: FloatArray
    permanent: FloatArray
    doubt: FloatArray
    evidence: FloatArray

    @classmethod
    def following(cls, past: Past, window: Prior, recurrence: Recurrence) -> Self:
        """Make the prior of a window from the past.

        past: one that fits the window's joint.
        window: the prior that is learnt from the window alone.
        """
        N, basis = window.moments.reports, window.basis
        noise = _noise(window, recurrence)
        # One user of the product rules no cell out: see `Prior`.
        centre = (N * past.joint + basis.product) / (N + 1.0)
        varying = basis.order > 0

        drift = Drift.learn(*_distances(window, centre, past, noise, recurrence), past.evidence)
        variances = past.variances + recurrence.elapsed * drift.variance
        errors = Errors(variances=variances, held=past.permanent, noise=noise)
        weight = N * basis.retained
        squares = [float(errors.about_users(weight / (weight + each))[varying].sum()) for each in _STRENGTHS]
        strength = float(_STRENGTHS[int(np.argmin(squares))])
        gain = weight / (weight + strength)
        doubt = (1.0 - gain) ** 2 * past.doubt
        return cls(
            basis=basis,
            moments=window.moments,
            centre=centre,
            strength=strength,
            variances=variances,
            mean_variances=variances,
            doubt=doubt,
            cautious_errors=np.where(varying, errors.about_users(gain) + doubt, 0.0),
            share_errors=window.share_errors,
            dependence=window.dependence,
            p_value=window.p_value,
            centre_kind=Start.PREVIOUS,
            drift=drift.variance,
            jumped=drift.jumped,
            population_errors=errors.about_population(gain),
            permanent=errors.permanent(gain),
            evidence=drift.evidence,
        )

    def helps(self, window: Prior) -> bool:
        """Decide whether an estimate with this prior is expected to err less than with the window's own.

        By chance, a window shows less dependence than there is, and its own estimate would seem the better one; with
        it all would be lost that is known from the windows before. So its prior variances are taken to be no smaller
        than those about the past. The doubt is left out on both sides: it would speak for whatever forgets it.
        """
        varying = self.basis.order > 0
        own = self.cautious_errors - self.doubt
        alone = window.errors(np.maximum(window.mean_variances, self.variances))
        return not self.jumped and float(own[varying].sum()) < float(alone[varying].sum())

    def past(self, joint: FloatArray) -> Past:
        """Return what the next window takes from this one.

        joint: the estimate with this prior.
        """
        return Past(
            joint=joint,
            variances=self.population_errors,
            permanent=self.permanent,
            doubt=self.doubt,
            evidence=self.evidence,
        )

    @property
    def resolved(self) -> FloatArray:
        """K_k: how much of the distance from the past to the reports the estimate goes."""
        weight = self.moments.reports * self.basis.retained
        return weight / (weight + self.strength)

    @property
    def response(self) -> FloatArray:
        """See `Prior.response`."""
        weight = self.moments.reports * self.basis.retained
        return self.moments.reports / (weight + self.strength)


def _distances(
    window: Prior, centre: FloatArray, past: Past, noise: Noise, recurrence: Recurrence
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what `Drift.learn` needs to know of the coefficients of one window."""
    varying = window.basis.order > 0
    N, means, squares = window.moments
    retained = np.maximum(window.basis.retained, LEAST_RETAINED)
    # A report's product with itself enters as its expectation: see `Evidence`.
    residuals = N * (means - retained * window.basis.coefficients(centre)) ** 2 - (squares - means**2) + retained
    known = past.variances + noise.fresh + noise.sampling + (1.0 - past.permanent) ** 2 * noise.permanent
    steps = np.full(retained.shape, float(recurrence.elapsed))
    return (residuals / (N * retained**2))[varying], known[varying], steps[varying]
