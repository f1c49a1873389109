"""The standard error of each cell of an estimate: its expected distance from the truth.

The truth is the joint distribution of the users who reported. Let e_k be the expected squared error of coefficient k
of the estimate in the basis of independent attributes (basis.py). It covers the cost of shrinkage as well as noise:
it is the mean over all dependence that the reports leave open (evidence.py).

For independent attributes, the variance of a cell is P0_w^2 S_w, S_w = sum_k e_k phi_k(w)^2. For others,
P0_w P_w + (P_w - P0_w)^2 replaces P0_w^2, with P the estimate: where it differs from the product P0, the cell's
coefficients are larger than their prior variance says, which is one for all of an order.

The noise in this, P0_w P_w S_w, grows with the true P_w, which may be larger than the estimate: a cell that the
window's own prior has drawn to nearly nothing would have no error. So P_w is taken for half of its own error larger
there. Under a temporal prior it is not: what the windows before have shown is not drawn to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.records.estimators.temporal import TemporalPrior

if TYPE_CHECKING:
    from stream_ldp.records.estimators.likelihood import FloatArray
    from stream_ldp.records.estimators.problem import Fit, Problem

__all__ = ["standard_error"]

#: Share of its error by which a cell may well be larger.
_LARGER = 0.5


def standard_error(problem: Problem, fit: Fit) -> FloatArray:
    """Compute the standard error of each cell, shape of the joint.

    An estimate without shrinkage (the paper's) is away from the posterior's mean, because it overfits or because it
    stopped early: that distance counts too.
    """
    prior = problem.prior
    product = prior.basis.product
    share = prior.basis.variances(prior.cautious_errors)
    square = (fit.joint * product + (fit.joint - product) ** 2) * share
    if not isinstance(prior, TemporalPrior):
        square = square + _LARGER * np.sqrt(square) * product * share
    if not fit.shrunk:
        square = square + (fit.joint - np.maximum(prior.expected, 0.0)) ** 2
    return np.sqrt(square)
