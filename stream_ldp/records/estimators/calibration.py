"""Weights of a window's reports with which they say of a joint what is known from more windows than theirs.

The mean scores u_k of N reports (basis.py) are all that they say, to first order. Reports with the weights

    1 + sum_k t_k (s_k - u_k),    (C + diag(c_k N V_k)) t = u* - u,

C being the covariance of the scores s_k of a report, have nearly the mean scores u* instead, of variance V: of all
weights as near to 1 in mean square, they come nearest to u*, with differences measured in units of c_k V_k (the
generalised regression estimator; Deville and Sarndal, 1992, section 2; with tolerances: Rao and Singh, 1997). What is
not linear in the reports, such as how dependence changes their information, remains.

Reports that are many times the cells reach u* with nearly equal weights. Where they are few, the scores of some
coefficients are the same in all reports but for what others are, and no weights change one without the other. So the
tolerance is just large enough for weights that are nearly equal, and larger for coefficients that the reports resolve
less: c_k is c over the share that they resolve.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from stream_ldp.records.estimators.basis import MIN_RETAINED, Scored
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.patterns import FloatArray
from stream_ldp.records.estimators.prior import Prior

#: Least weight of a report: one that would be below it, or below 0, still counts.
_MIN_WEIGHT = 1e-3
#: Least share of the reports that weighted ones are worth, (sum w)^2 / (n sum w^2) (Kish, 1965, section 11.7). At
#: 0.8, estimates from few reports were up to 1.17 times as far from the truth as without weights, at 0.9 nowhere; at
#: 0.95, they gained less.
_MIN_WORTH = 0.9
#: c, from the least to the largest: with one hundredth of the last, little of what is wanted is reached.
_TOLERANCES = np.geomspace(1e-3, 10.0, 9)
#: Least of what is taken for resolved of a coefficient, so that its tolerance is finite.
_MIN_RESOLVED = 1e-3
#: A solution ends when the remaining difference is below this share of u* - u, or after so many passes.
_CLOSE, _PASSES = 0.01, 30


class Calibrated(NamedTuple):
    """Weights, and how far they lead.

    weights: of each row, positive, shape (rows,); their mean over the reports is 1.
    reached: share of the way from u_k to u*_k, in [0, 1], shape of the joint; the constant's has no meaning.
    """

    weights: FloatArray
    reached: FloatArray


def calibrated(likelihood: Likelihood, prior: Prior, wanted: FloatArray, variances: FloatArray) -> Calibrated | None:
    """Compute the weights of a window's reports.

    likelihood: that of at least one report.
    prior: learnt from it.
    wanted: u*, shape of the joint.
    variances: V, likewise.

    Returns:
        None if the reports have no weights that are nearly equal and lead anywhere.
    """
    # Imported here: reading a collection needs no solver, and must not wait for the import of SciPy.
    from scipy.sparse.linalg import LinearOperator, cg  # noqa: PLC0415

    basis, moments, shape = prior.basis, prior.moments, wanted.shape
    spread = np.sqrt(np.maximum(moments.squares - moments.means**2, MIN_RETAINED))
    least = moments.reports * variances / (np.maximum(prior.resolved, _MIN_RESOLVED) * spread**2)
    scores = [Scored(attribute).scores for attribute in basis.attributes]
    difference = np.where(basis.retained > MIN_RETAINED, (wanted - moments.means) / spread, 0.0)
    difference.flat[0] = 0.0

    def deviations(scaled: FloatArray) -> FloatArray:
        """Compute sum_k t_k (s_k - u_k) of every row."""
        every = likelihood.relative(basis.joint(scaled.reshape(shape) / spread), basis.product)
        return every - likelihood.mean(every)

    def changed(weights: FloatArray) -> FloatArray:
        """Compute what weights add to the mean scores."""
        return likelihood.mean_products(scores, weights=weights) / spread

    def applied(allowed: FloatArray, scaled: FloatArray) -> FloatArray:
        """Compute the left side of the equations, scaled so that the variance of every score is 1."""
        return changed(deviations(scaled)).ravel() + allowed.ravel() * scaled.ravel()

    scaled = np.zeros(wanted.size)
    for tolerance in _TOLERANCES:
        allowed = tolerance * least
        operator = LinearOperator((wanted.size, wanted.size), matvec=partial(applied, allowed), dtype=np.float64)
        scaled, _ = cg(operator, difference.ravel(), x0=scaled, rtol=_CLOSE, maxiter=_PASSES)
        weights = np.maximum(1.0 + deviations(scaled), _MIN_WEIGHT)
        weights /= likelihood.mean(weights)
        if likelihood.mean(weights**2) <= 1.0 / _MIN_WORTH:
            return Calibrated(likelihood.by_row(weights), _reached(difference, changed(weights - 1.0), allowed))
    return None


def _reached(difference: FloatArray, change: FloatArray, tolerance: FloatArray) -> FloatArray:
    """Compute the share of each difference that is reached.

    Were the scores uncorrelated, it would be 1 / (1 + tolerance). What the reports reach on the whole may be less.
    """
    each = 1.0 / (1.0 + tolerance)
    wanted = float(np.vdot(each * difference, difference))
    return np.clip(each * (float(np.vdot(change, difference)) / wanted if wanted else 1.0), 0.0, 1.0)
