"""The standard error of each cell of an estimate: its expected distance from the truth.

The truth is the joint distribution of the users who reported. Given the prior variance v_k of its coefficient k in
the basis of independent attributes (basis.py), to which their sampling adds 1 / N, and reports that observe it with
noise (1 - lambda_k) / (N lambda_k), the coefficient's posterior has

    mean      c_k + B_k (u_k / lambda_k - c_k),    B_k = N lambda_k a_k / (1 - lambda_k + N lambda_k a_k),
    variance  a_k (1 - B_k),                        a_k = v_k + 1 / N,

c_k the centre's coefficient. The posterior covers the cost of shrinkage as well as noise. For independent attributes,
the variance of a cell is P0_w^2 sum_k variance_k phi_k(w)^2. For others, P0_w P_w + (P_w - P0_w)^2 replaces P0_w^2,
with P the estimate: where it differs from the product P0, the cell's coefficients are larger than their prior
variance says, which is one for all of an order.

All of this grows with the true P_w, which may be larger than the estimate: a cell that the window's own prior has
drawn to nearly nothing would have no error. So P_w is taken for half of its own error larger. Under a temporal prior
it is not: what the windows before have shown is not drawn to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.records.estimators.temporal import TemporalPrior

if TYPE_CHECKING:
    from stream_ldp.records.estimators.likelihood import FloatArray
    from stream_ldp.records.estimators.problem import Fit, Problem

__all__ = ["standard_error"]

#: Share of its error by which a cell may well be larger. With 0, 0.5 and 1, over two to five attributes of NLTCS and
#: Adult, 95 % intervals cover .92, .95 and .96 of the cells of 300 users, and .95, .97 and .97 of 7,100 users'.
_LARGER = 0.5
#: Floor of an estimate, by which is divided.
_LEAST_PROBABILITY = 1e-12


def standard_error(problem: Problem, fit: Fit) -> FloatArray:
    """Compute the standard error of each cell, shape of the joint.

    An estimate without shrinkage (the paper's) is away from the posterior's mean, because it overfits or because it
    stopped early: that distance counts too.
    """
    prior = problem.prior
    product = prior.basis.product
    share = prior.basis.variances(prior.errors)
    square = (fit.joint * product + (fit.joint - product) ** 2) * share
    if not isinstance(prior, TemporalPrior):
        square = square * (1.0 + _LARGER * np.sqrt(square) / np.maximum(fit.joint, _LEAST_PROBABILITY))
    if not fit.shrunk:
        square = square + (fit.joint - np.maximum(prior.expected, 0.0)) ** 2
    return np.sqrt(square)
