"""Weights of a window's reports with which they say of a joint what is known from more windows than theirs.

The mean scores u_k of N reports (basis.py) are all that they say, to first order. Reports with the weights

    1 + sum_k t_k (s_k - u_k),    (C + c N diag(V)) t = u* - u,

have the mean scores u* instead, to within a small share c of their variances V, C being the covariance of the scores
s_k of a report: of all weights with these means, they are the nearest to 1 in mean square (the generalised regression
estimator; Deville and Sarndal, 1992, section 2; with tolerances: Rao and Singh, 1997). What is not linear in the
reports, such as how dependence changes their information, remains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.records.estimators.basis import LEAST_RETAINED, Scored

if TYPE_CHECKING:
    from stream_ldp.records.estimators.basis import Moments, ProductBasis
    from stream_ldp.records.estimators.likelihood import FloatArray, Likelihood

__all__ = ["calibrated"]

#: Least weight of a report: one that would be below it, or below 0, still counts.
_LEAST_WEIGHT = 1e-3
#: Least share of the reports that weighted ones are worth, (sum w)^2 / (n sum w^2) (Kish, 1965, section 11.7). It was
#: 0.89 or more where reports are many times the cells. With fewer it was 0.5 or less, and estimates with weights were
#: 1.5 to 2.5 times as far from the truth as without; at 0.8, some were 1.1 times as far.
_LEAST_WORTH = 0.85
#: c. Where reports are few, some scores are the same in all of them but for what others are, and no weights change
#: one without the other: then that is changed of which less is known.
_TOLERANCE = 1e-3
#: The solution ends when the remaining difference is below this share of u* - u, or after so many passes.
_CLOSE, _PASSES = 0.01, 30


def calibrated(
    likelihood: Likelihood, basis: ProductBasis, moments: Moments, wanted: FloatArray, variances: FloatArray
) -> FloatArray | None:
    """Compute the weight of each row.

    likelihood: that of at least one report.
    basis: basis of the reports' attributes.
    moments: moments of the reports in it.
    wanted: u*, shape of the joint.
    variances: V, likewise.

    Returns:
        Positive, shape (rows,); their mean over the reports is 1. None if so few reports have no weights that are
        nearly equal and lead to u*.
    """
    # Imported here: reading a collection needs no solver, and must not wait for the import of SciPy.
    from scipy.sparse.linalg import LinearOperator, cg  # noqa: PLC0415

    shape, size = wanted.shape, wanted.size
    spread = np.sqrt(np.maximum(moments.squares - moments.means**2, LEAST_RETAINED))
    tolerance = _TOLERANCE * moments.reports * variances / spread**2
    scores = [Scored(each).scores for each in basis.attributes]

    def deviations(scaled: FloatArray) -> FloatArray:
        """Compute sum_k t_k (s_k - u_k) of every row."""
        every = likelihood.relative(basis.joint(scaled.reshape(shape) / spread), basis.product)
        return every - likelihood.mean(every)

    def covariance(scaled: FloatArray) -> FloatArray:
        of_rows = likelihood.mean_products(scores, weights=deviations(scaled))
        applied: FloatArray = (of_rows / spread).ravel() + tolerance.ravel() * scaled.ravel()
        return applied

    difference = np.where(basis.retained > LEAST_RETAINED, (wanted - moments.means) / spread, 0.0)
    difference.flat[0] = 0.0
    operator = LinearOperator((size, size), matvec=covariance, dtype=np.float64)
    scaled, _ = cg(operator, difference.ravel(), rtol=_CLOSE, maxiter=_PASSES)
    weights = np.maximum(1.0 + deviations(scaled), _LEAST_WEIGHT)
    weights /= likelihood.mean(weights)
    if likelihood.mean(weights**2) > 1.0 / _LEAST_WORTH:
        return None
    return likelihood.by_row(weights)
