"""The standard error of each cell of an estimate: its expected distance from the truth.

The truth is the joint distribution of the users who reported. Let e_k be the expected squared error of coefficient k
of the estimate in the basis of independent attributes (basis.py). It covers the cost of shrinkage as well as noise:
it is the mean over all dependence that the reports leave open (evidence.py).

For independent attributes, the variance of a cell is P0_w^2 S_w, with P0 the product of their marginals and S_w =
sum_k e_k phi_k(w)^2. For others, there may be more users in a cell, or who look as if they were: then its variance is
larger by the ratio of its noise that the reports show (`ProductBasis.noise_ratios`), and never smaller. For what the
prior hides, the share of e_k that the reports do not resolve, this ratio is at least P_w / P0_w: the variance of a
cell of a Dirichlet distribution is in proportion to its mean. Where few cells have all users, they would otherwise
have the same errors as empty ones, and intervals of 95 % have held 75 % of them. Where one of two attributes is a
function of the other, a cell is empty, or has all users U_w of the rarer of its two values: its variance is P0_w
(U_w - P0_w). What is hidden of the dependence is at least the share of it that e_k is of the strongest dependence.

A cell may have more users than the reports show, and more noise with them: one that the prior has shrunk towards
nearly nothing would have no error. So it is taken for half of its own error larger.

The e_k of dependence allow for any that the reports leave open, which is much where they show nothing: over tables
from independent to nearly deterministic, errors were three times as wide as the distances. The other extreme is what
a parametric bootstrap shows (Efron and Tibshirani, 1993): of reports drawn from the estimate, how far their estimates
are from it. To first order that is the noise that passes the shrinkage, and what shrinking takes away,

    (g_k / lambda_k)^2 lambda_k (1 - lambda_k) / N + 4 b_k^2.

b_k is the part of the estimate's difference from the prior's centre that the reports do not resolve, twice over,
since the estimate is itself shrunk. It is too small: what an estimate has lost, it does not show. No interval can be
narrow for independent attributes and cover all dependence (Low, 1997), so e_k is a geometric mean of both. The second
has the weight

    (1 - 4 / K)+ R / (R + 2 + K / 50) Pr(independent),

with K coefficients of pairs, or of all higher orders, of which the reports resolve R in all, and as much for
independence beforehand as against it. So it counts where the reports resolve several coefficients and show no
dependence. It does not where they show nothing, nor where they show dependence that shrinking has taken a part of: a
strong one may be hidden. One to four coefficients may hide most: two fair coins and whether they agree have all of it
in the one of third order, of which pairs say nothing.

All of the above is linear in the reports. Of a value that few of them show, another law says how many users may have
it (rare_values.py): the error of a cell is at least that. It is at most the error with all of these users in the
cell, or with all who may have other values in other cells.

No error is larger than the distance from the estimate to 0 or 1, whichever is further.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.records.effects import Effects, by_set
from stream_ldp.records.estimators.evidence import tied_means
from stream_ldp.records.estimators.rare_values import RareValues
from stream_ldp.records.estimators.solution import Errors

if TYPE_CHECKING:
    from stream_ldp.records.estimators.patterns import FloatArray
    from stream_ldp.records.estimators.prior import Prior
    from stream_ldp.records.estimators.problem import Fit, Problem

#: Share of its error by which a cell may well be larger.
_LARGER = 0.5
#: What shrinking takes from the truth, as a multiple of what it takes from the estimate, which has lost as much
#: before. Of 1, 2 and 4, at an equal coverage, none is narrower by 2 %.
_AS_LOST = 2.0
#: Coefficients of dependence up to which the bootstrap's error has no weight. Half of the largest weight takes so
#: many that the reports resolve, and such a share of all more. At an equal width, generated tables, hidden dependence
#: and near copies are covered less with the test of independence in place of its probability, with the mean share
#: resolved in place of R, or without a bootstrap and with a prior of the first error that is flatter.
_FEW, _RESOLVED, _OF_ALL = 4, 2.0, 0.02


def errors_of(problem: Problem, fit: Fit) -> Errors:
    """Compute the standard errors of a fit, and how they go together."""
    narrowed = _narrowed(problem.prior, fit)
    return Errors(_standard_error(problem, fit, narrowed), _effects(problem.prior, narrowed))


def _standard_error(problem: Problem, fit: Fit, errors: FloatArray) -> FloatArray:
    """Compute the standard error of each cell, shape of the joint.

    An estimate without shrinkage (the paper's) is away from the posterior's mean, because it overfits or because it
    stopped early: that distance counts too.

    errors: e_k.
    """
    prior = problem.prior
    product = prior.basis.product
    shown = prior.basis.variances(errors * prior.resolved)
    hidden = prior.basis.variances(errors * (1.0 - prior.resolved))
    noise = np.maximum(prior.basis.noise_ratios(problem.likelihood, prior.moments), 1.0)
    more = np.maximum(noise, fit.joint / product)
    square = product**2 * (shown * noise + hidden * more)
    if product.ndim == 2:
        square = square + _of_function(prior, errors, more)
    rare = RareValues.of(fit.joint, prior.marginals, prior.share_errors)
    square = square + _LARGER * np.sqrt(square) * product * (shown + hidden)
    square = np.minimum(np.maximum(square, rare.least), rare.most)
    if not fit.shrunk:
        square = square + (fit.joint - np.maximum(prior.expected, 0.0)) ** 2
    return np.minimum(np.sqrt(square), np.maximum(fit.joint, 1.0 - fit.joint))


def _effects(prior: Prior, errors: FloatArray) -> Effects:
    """Return the effect of each set of attributes, that of its coefficients.

    What is beyond them in cells is in their standard errors alone.

    errors: e_k.
    """
    basis = prior.basis
    values, lengths = [], np.ones(())
    for axis, attribute in enumerate(basis.attributes):
        squares = (attribute.marginal[:, None] * attribute.functions) ** 2
        values.append(squares @ np.moveaxis(errors, axis, 0).reshape(len(squares), -1)[:, 0])
        lengths = np.multiply.outer(lengths, [1.0, *squares[:, 1:].sum(axis=0)])
    return Effects.of(values, by_set(errors * lengths))


def _narrowed(prior: Prior, fit: Fit) -> FloatArray:
    """Compute e_k of every coefficient: the cautious one, or between it and the bootstrap's where `fit` is shrunk."""
    basis, resolved, errors = prior.basis, prior.resolved, prior.cautious_errors.copy()
    if not fit.shrunk:
        return errors
    passed = prior.response**2 * basis.retained * (1.0 - basis.retained) / prior.moments.reports + prior.lacking
    lost = (_AS_LOST * basis.coefficients(fit.joint - prior.centre) * (1.0 - resolved)) ** 2
    for of in (basis.order == 2, basis.order >= 3):
        if weight := _weight(prior, resolved[of]):
            # Functions with one lambda may be rotated: no order of the values changes their mean.
            bootstrap = np.minimum(passed[of] + tied_means(lost[of], basis.retained[of]), errors[of])
            errors[of] = errors[of] ** (1.0 - weight) * bootstrap**weight
    return errors


def _weight(prior: Prior, resolved: FloatArray) -> float:
    """Weigh the bootstrap's errors of some coefficients against the cautious ones, from 0 to 1."""
    if resolved.size <= _FEW:
        return 0.0
    shown = float(resolved.sum())
    independent = math.exp(-np.logaddexp(0.0, prior.dependence.log_mean_ratio))
    return (1.0 - _FEW / resolved.size) * shown / (shown + _RESOLVED + _OF_ALL * resolved.size) * independent


def _of_function(prior: Prior, errors: FloatArray, more: FloatArray) -> FloatArray:
    """Compute how much larger the variance of a cell is where one of two attributes may be a function of the other.

    errors: e_k.
    more: the ratio by which that of dependence spread over all coefficients is larger.
    """
    product, (first, second) = prior.basis.product, prior.marginals
    hidden = np.where(prior.basis.order == 2, errors * (1.0 - prior.resolved), 0.0)
    share = min(1.0, float(hidden[1:, 1:].mean()) / prior.strongest)
    of_function = share * product * (np.minimum.outer(first, second) - product)
    spread: FloatArray = product**2 * prior.basis.variances(hidden) * more
    return np.maximum(of_function - spread, 0.0)
