"""The standard error of each cell of an estimate: its expected distance from the truth.

The truth is the joint distribution of the users who reported. Let e_k be the expected squared error of coefficient k
of the estimate in the basis of independent attributes (basis.py). It covers the cost of shrinkage as well as noise:
it is the mean over all dependence that the reports leave open (evidence.py).

For independent attributes, the variance of a cell is P0_w^2 S_w, with P0 the product of their marginals and
S_w = sum_k e_k phi_k(w)^2. For others, there may be more users in a cell, or who look as if they were: then its
variance is larger by the ratio of its noise that the reports show (`ProductBasis.noise_ratios`), and never smaller.
For what the prior hides, the share of e_k that the reports do not resolve, this ratio is at least P_w / P0_w: the
variance of a cell of a Dirichlet distribution is in proportion to its mean. Where few cells have all users, they
would otherwise have the same errors as empty ones, and intervals of 95 % have held 75 % of them.

A cell may have more users than the reports show, and more noise with them: one that the prior has drawn to nearly
nothing would have no error. So it is taken for half of its own error larger.

All of the above is linear in the reports. Of a value that few of them show, another law says how many users may have
it (rare_values.py): the error of a cell is no less than that leaves open, and no more than if all of these users were
in the cell, or all who may have other values in others.

No error is larger than the distance from the estimate to 0 or 1, whichever is further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.records.estimators.rare_values import RareValues

if TYPE_CHECKING:
    from stream_ldp.records.estimators.patterns import FloatArray
    from stream_ldp.records.estimators.problem import Fit, Problem

#: Share of its error by which a cell may well be larger.
_LARGER = 0.5


def standard_error(problem: Problem, fit: Fit) -> FloatArray:
    """Compute the standard error of each cell, shape of the joint.

    An estimate without shrinkage (the paper's) is away from the posterior's mean, because it overfits or because it
    stopped early: that distance counts too.
    """
    prior = problem.prior
    product = prior.basis.product
    shown = prior.basis.variances(prior.cautious_errors * prior.resolved)
    hidden = prior.basis.variances(prior.cautious_errors * (1.0 - prior.resolved))
    noise = np.maximum(prior.basis.noise_ratios(problem.likelihood, prior.moments), 1.0)
    square = product**2 * (shown * noise + hidden * np.maximum(noise, fit.joint / product))
    rare = RareValues.of(fit.joint, prior.marginals, prior.share_errors)
    square = np.maximum(square + _LARGER * np.sqrt(square) * product * (shown + hidden), rare.least)
    square = np.minimum(square, rare.most)
    if not fit.shrunk:
        square = square + (fit.joint - np.maximum(prior.expected, 0.0)) ** 2
    return np.minimum(np.sqrt(square), np.maximum(fit.joint, 1.0 - fit.joint))
