"""Evidence of how far a joint distribution lies from a centre, which determines the strength of the prior.

Coefficients of the difference from the centre (see basis.py) are taken as normal with mean 0 and one variance v. So
the residual r_k = u_k - lambda_k (centre's d_k) of each is normal with variance lambda_k / N + v lambda_k^2. The log
marginal likelihood of v over v = 0 is

    l(v) = 1/2 sum_k [ N v (N r_k^2) / (1 + N v lambda_k) - ln(1 + N v lambda_k) ].

A Dirichlet prior worth s users gives the coefficients the variance v = 1 / s.
"""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property

import numpy as np

from stream_ldp.records.estimators.basis import MIN_RETAINED, AttributeBasis, Moments, ProductBasis
from stream_ldp.records.estimators.patterns import FloatArray

#: Number of values of v that are tried, evenly spaced in ln v.
_GRID = 100
_EVENLY = np.linspace(0.0, 1.0, _GRID)
#: The least of them, in units of 1 / N: a tenth of the sampling error of N users who report without noise.
_MIN_VARIANCE = 0.01
#: Number of groups of coefficients with about equal lambda, and of samples of the statistic without dependence: a
#: p-value is a multiple of 0.001.
_GROUPS, _SAMPLES = 64, 999
#: The seed is fixed, so that an estimate that is computed again is the same to the last bit.
_SEED = 20220731
#: Entries of the largest array that is formed for several v at once: 2 MB as float64 stay in a core's cache.
_LARGEST = 2**18
#: Probability that a simulation shows a statistic as large as the observed one, below which none is run.
_NEVER = 1e-6


class Evidence:
    """The marginal likelihood of v, computed from the coefficients of some orders.

    basis: basis of the reports' attributes.
    moments: moments of the reports in it.
    centre: the distribution from which differences are taken, shape of the joint.
    lowest: the lowest order that the centre does not determine.
    ceiling: the largest possible v.
    usual: the largest usual v, beyond which the prior falls as 1 / v^2; None if all are usual.
    """

    def __init__(
        self,
        *,
        basis: ProductBasis,
        moments: Moments,
        centre: FloatArray,
        lowest: int,
        ceiling: float,
        usual: float | None = None,
    ) -> None:
        self.centre = centre
        N = moments.reports
        open_ = basis.order >= lowest
        self._residuals: FloatArray = _residuals(moments, basis.retained, basis.coefficients(centre))[open_]
        self._retained: FloatArray = basis.retained[open_]
        self._spread: FloatArray = np.ones_like(self._retained)
        self._reports = N
        self._variances = _variances(N, ceiling)
        self._log_prior = -2.0 * np.log(np.maximum(self._variances / (usual or ceiling), 1.0))
        step = max(1, _LARGEST // max(1, len(self._retained)))
        self._parts = [slice(begin, begin + step) for begin in range(0, _GRID, step)]
        self._log_ratio = np.concatenate([self._log_ratios(self._variances[part]) for part in self._parts])

    def in_basis(self, attribute: AttributeBasis, moments: Moments) -> Evidence:
        """Return the same evidence of v, whose expected errors are those of the coefficients in another basis.

        Coefficients of an attribute with variance v in the basis of its centre C have the variance v Var_C phi_k in
        another basis: more, if phi_k is large at a value that is rarer there than in C.

        attribute: the other basis of the evidence's one attribute.
        moments: moments of its functions but the constant, shape (size - 1,).
        """
        functions = attribute.functions[:, 1:]
        own = self.centre @ functions
        other = copy(self)
        other._retained = attribute.retained[1:]
        other._residuals = _residuals(moments, other._retained, own)
        other._spread = self.centre @ functions**2 - own**2
        return other

    def _log_ratios(self, variances: FloatArray) -> FloatArray:
        """Compute l(v) for some v."""
        return _log_ratios(self._reports * variances[:, None], self._residuals, self._retained)

    @property
    def coefficients(self) -> int:
        return len(self._retained)

    @property
    def variance(self) -> float:
        """Posterior mean of v under a prior that is flat in ln v up to `usual`.

        The maximum would overfit: if the reports say little, it is 0 or the ceiling by chance.
        """
        return float(self._posterior @ self._variances)

    @property
    def doubtful_variance(self) -> float:
        """Root of the posterior mean of v^2: the mean, and more the less is known of v.

        Errors that take v for its mean cover too little where the reports say little of it.
        """
        return math.sqrt(float(self._posterior @ self._variances**2))

    def expected_errors(self, strength: float | None, *, ceiling: float = math.inf) -> FloatArray:
        """Compute the expected squared error of each coefficient of an estimate, given the reports.

        With v known, the coefficient of the users who reported is normal. Its mean about the centre's is g_k r_k /
        lambda_k, and its variance (v + 1 / N) (1 - g_k), where

            g_k = N lambda_k a / (1 - lambda_k + N lambda_k a),    a = v + 1 / N.

        An estimate with a gain of G_k thus has a further squared error of (G_k - g_k)^2 (r_k / lambda_k)^2. Both
        gains are in proportion to lambda_k, so that nothing is divided by it. Where lambda_k is 0 but for rounding,
        r_k is rounding too, and both gains are 0. Both errors are averaged over v (the law of total variance), which
        may as well be large as small: its prior is flat up to the ceiling, for intervals that cover what they should
        whatever v is (Morris, 1983). With the prior of `variance`, most coefficients are small, and intervals would
        cover only those. What is usual does not matter: a dependence of high order alone can be believed. Functions
        with one lambda may be rotated, so each has the mean of their r_k^2, which no order of the values changes.

        strength: that of the estimate's Dirichlet prior, in users; None for the mean of g_k over v as the gain.
        ceiling: the largest possible v, if it is smaller than that of the coefficients.

        Returns:
            Shape (coefficients,), those of the lowest order and above in the basis' order.
        """
        N, retained, spread = self._reports, self._retained, tied_means(self._spread, self._retained)
        likely = np.where(self._variances <= max(ceiling, self._variances[0]), self._log_ratio, -math.inf)
        # Flat in v, by the trapezoidal rule on a grid that is even in ln v.
        posterior = np.exp(likely - likely.max()) * self._variances
        posterior[[0, -1]] *= 0.5
        posterior /= posterior.sum()
        response, squared, known = np.zeros((3, len(retained)))
        for part in self._parts:
            a = self._variances[part, None] * spread + 1.0 / N
            left = 1.0 - retained + N * retained * a
            # g_k / lambda_k.
            each = N * a / left
            response += posterior[part] @ each
            squared += posterior[part] @ each**2
            known += posterior[part] @ (a * (1.0 - retained) / left)
        doubt = np.maximum(squared - response**2, 0.0)
        if strength is not None:
            doubt = doubt + (N / (N * np.maximum(retained, MIN_RETAINED) + strength * spread) - response) ** 2
        shown = np.where(retained > MIN_RETAINED, np.maximum(tied_means(self._residuals, retained), 0.0), 0.0)
        errors: FloatArray = known + doubt * shown / N
        return errors

    @cached_property
    def _posterior(self) -> FloatArray:
        log_posterior = self._log_ratio + self._log_prior
        weights: FloatArray = np.exp(log_posterior - log_posterior.max())
        return weights / float(weights.sum())

    def strength(self, share: float = 1.0) -> float:
        """Strength s of the Dirichlet prior, in users, for the joint distribution of the users who reported.

        share: of v that is believed, in [0, 1].

        Their joint differs from the population's by sampling, which adds 1 / N to v; the reports' noise about it is
        (1 - lambda_k) / N instead of lambda_k / N. So s = (1 - lambda) / (v + 1 / N) makes the mode of the posterior
        shrink each coefficient as it should; lambda is averaged with weights lambda.
        """
        return (1.0 - self._usual_retained) / (share * self.variance + 1.0 / self._reports)

    def average_strength(self, none: float) -> float:
        """Strength that shrinks a coefficient as much as the average over v does.

        none: probability that v is 0.

        With prior variance v, the posterior shrinks a coefficient towards the centre by the share

            A(v) = (1 - lambda) / (1 - lambda + N lambda a),    a = v + 1 / N,

        and with a Dirichlet prior worth s users by s / (N lambda + s). A is convex, so its mean is more than that of
        the mean of v, the more so the less the reports say of v.
        """
        N, retained = self._reports, self._usual_retained
        if not retained:
            return N
        noise, signal = 1.0 - retained, N * retained * (self._variances + 1.0 / N)
        drawn = (1.0 - none) * float(self._posterior @ (noise / (noise + signal))) + none * noise
        # As one less the other, a share near 0 would be none at all.
        kept = (1.0 - none) * float(self._posterior @ (signal / (noise + signal))) + none * retained
        return N * retained * drawn / kept

    @property
    def _usual_retained(self) -> float:
        """Mean of lambda with weights lambda."""
        total = float(self._retained.sum())
        return float(np.square(self._retained).sum()) / total if total else 0.0

    @property
    def log_mean_ratio(self) -> float:
        """The log marginal likelihood over that of v = 0, with a prior that is flat in ln v."""
        return float(_log_mean(self._log_ratio))

    @property
    def statistic(self) -> float:
        """Twice the log ratio of the marginal likelihoods, best v over v = 0; at least 0."""
        return 2.0 * max(0.0, float(self._log_ratio.max()))

    @cached_property
    def p_value(self) -> float:
        """The simulated chance of a statistic at least as large if v = 0 (Crainiceanu and Ruppert, 2004).

        The N r_k^2 / lambda_k are then independent chi-squares, drawn together for coefficients of like equal lambda.
        Nothing is drawn where the outcome is sure: every sample reaches 0, and by Markov's inequality, since a
        likelihood ratio has mean 1, at each v one sample in e^(statistic / 2) at most reaches a large statistic.
        """
        open_ = self._retained[self._retained > 0.0]
        if not len(open_) or self.statistic <= 0.0:
            return 1.0
        if _SAMPLES * _GRID * math.exp(-0.5 * self.statistic) < _NEVER:
            return 1.0 / (1 + _SAMPLES)
        edges = np.geomspace(open_.min(), open_.max(), _GROUPS + 1)[1:-1]
        group = np.searchsorted(edges, open_)
        count = np.bincount(group)
        retained = np.bincount(group, weights=open_)[count > 0] / count[count > 0]
        count = count[count > 0]
        squares = np.random.default_rng(_SEED).chisquare(count, size=(_SAMPLES, len(count)))
        x = self._reports * retained[:, None] * self._variances
        statistics = squares @ (x / (1.0 + x)) - count @ np.log1p(x)
        best = np.maximum(statistics.max(axis=1), 0.0)
        return float((1 + np.count_nonzero(best >= self.statistic)) / (1 + _SAMPLES))


def log_mean_ratios(moments: Moments, retained: FloatArray, *, ceiling: float) -> FloatArray:
    """Compute `Evidence.log_mean_ratio` of many groups of coefficients at once, about a centre that has none of them.

    moments: means and squares of the coefficients, shape (groups, coefficients).
    retained: lambda of each, same shape.
    ceiling: the largest possible v of each group.

    Returns:
        Nats, shape (groups,).
    """
    residuals = _residuals(moments, retained, np.zeros_like(retained))
    x = moments.reports * _variances(moments.reports, ceiling)[:, None]
    step = max(1, _LARGEST // retained.shape[1])
    ratios = np.empty((len(retained), _GRID))
    for begin in range(0, len(retained), max(1, step // _GRID)):
        groups = slice(begin, begin + max(1, step // _GRID))
        for least in range(0, _GRID, step):
            tried = slice(least, least + step)
            ratios[groups, tried] = _log_ratios(x[tried], residuals[groups, None], retained[groups, None])
    return _log_mean(ratios)


def _variances(reports: float, ceiling: float) -> FloatArray:
    """Return the v that are tried, shape (_GRID,)."""
    least = _MIN_VARIANCE * min(1.0 / reports, ceiling)
    variances: FloatArray = least * (ceiling / least) ** _EVENLY
    return variances


def _residuals(moments: Moments, retained: FloatArray, centre: FloatArray) -> FloatArray:
    """Compute N r_k^2 of every coefficient about `centre`, the centre's coefficients."""
    N, means, squares = moments
    # A report's product with itself enters as its expectation lambda_k, not as its observed value: otherwise one
    # report of two rare values would look like strong dependence (false alarms in 26 % of samples instead of 5 %
    # for 9 x 41 values, 1,000 users, f = 0.02).
    alone = squares - means**2
    residuals: FloatArray = N * (means - retained * centre) ** 2 - alone + retained
    return residuals


def tied_means(numbers: FloatArray, retained: FloatArray) -> FloatArray:
    """Give each coefficient the mean of those that have its lambda, to rounding."""
    if len(numbers) == 1:
        return numbers
    order = np.argsort(retained)
    group = np.cumsum(np.diff(retained[order], prepend=0.0) > MIN_RETAINED)
    means = np.bincount(group, weights=numbers[order]) / np.maximum(np.bincount(group), 1)
    tied = np.empty_like(numbers)
    tied[order] = means[group]
    return tied


def _log_ratios(x: FloatArray, residuals: FloatArray, retained: FloatArray) -> FloatArray:
    """Compute l(v) at x = N v, summed over the last axis."""
    grown = x * retained
    ratios: FloatArray = 0.5 * np.sum(x * residuals / (1.0 + grown) - np.log1p(grown), axis=-1)
    return ratios


def _log_mean(log_ratios: FloatArray) -> FloatArray:
    """Compute the logarithm of the mean ratio over the last axis."""
    highest = log_ratios.max(axis=-1, keepdims=True)
    mean: FloatArray = highest[..., 0] + np.log(np.exp(log_ratios - highest).mean(axis=-1))
    return mean
