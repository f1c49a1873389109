"""The posterior of a joint distribution: a prior from previous windows, and the reports of this one.

The coefficients d_k of the population's joint (basis.py) follow the local level model of
`stream_ldp.filtering.local_level`. The window's own estimates and their noise are

    y_k = u_k / lambda_k,    R_k = (1 - lambda_k) / (N lambda_k).

A share r of the users report in every window, and their permanent responses are the same in each. Of R_k, a share
pi_k thus never averages out:

    Var p_k = pi_k R_k,    Var e_k = (1 - pi_k) R_k + (1 - r) / N.

A window leaves the mean m_k to the next one, as a joint distribution whose cells may be negative. No prior shrinks
it, and no cell of it is moved to 0: the bias in one window would stay in all later ones, and a cell at 0 would never
rise again.

The window's joint is then estimated from its own reports. They are weighted to agree with the previous windows in
each coefficient, as far as so many reports can (calibration.py). Prior, centre and errors are learnt from these as
from those of a window of M reports: the mean, with weights 1 - lambda_k, of as many as would show each coefficient as
well,

    M_k = (1 - lambda_k) / (lambda_k a_k),

with a_k the mean squared error about the users who reported. Where a_k is more than M reports would have, such as of
marginals, which their users' sampling blurs, the difference is added to the errors.

Where all windows are worth many times the window's reports, no weights lead there: see population.py.

Coefficients of two windows are matched by their place. Within an attribute that is the order of lambda, so functions
that change places have nearly equal errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.filtering.local_level import DRIFTS, Drift, Errors, Noise
from stream_ldp.filtering.tracking import filtered_scores, unexpected
from stream_ldp.records.estimators.basis import MIN_RETAINED
from stream_ldp.records.estimators.calibration import calibrated
from stream_ldp.records.estimators.patterns import FloatArray
from stream_ldp.records.estimators.prior import Prior
from stream_ldp.records.estimators.problem import Problem
from stream_ldp.records.estimators.solution import Past

#: Most windows like this one that all reports are worth. A function that retains nothing and replaces one that is
#: known exactly would otherwise seem to be known from any number of windows.
_MAX_WINDOWS = 1_000


#: Least M / N with which a window is estimated together with those before it. Reports with hardly any noise show
#: their own users what no other window does, and a cell at 0 more than what is linear in them: with less, estimates
#: were up to 2.5 times as far from the truth as alone.
_MIN_GAIN = 1.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Recurrence:
    """How the users of consecutive windows are related.

    returning: r, share of a window's users who report in all windows, in [0, 1].
    permanent: share of a report's noise that is permanent, in [0, 1]: see `Mechanism.permanent_share`.
    elapsed: number of windows since the one before; more than 1 if some had no reports.
    forgotten: see `Drift.learn`.
    """

    returning: float
    permanent: float
    elapsed: int = 1
    forgotten: int = 1


def fits(past: Past, sizes: tuple[int, ...]) -> bool:
    """Decide whether this can be the past of a joint of this shape."""
    shapes = {past.mean.shape, past.variances.shape, past.permanent.shape, past.scores.shape}
    if past.population is not None:
        shapes.add(past.population.joint.shape)
    return shapes == {sizes} and past.evidence.shape == DRIFTS.shape


def first_past(prior: Prior, recurrence: Recurrence, evidence: FloatArray | None = None) -> Past:
    """Return what the next window takes from a window that was estimated alone.

    prior: learnt from the reports of that window.
    evidence: that of earlier windows about the drift, if there were any.
    """
    noise, retained = _noise(prior, recurrence), _retained(prior)
    return Past(
        mean=prior.basis.joint(prior.moments.means / retained),
        variances=noise.fresh + noise.sampling,
        permanent=np.ones_like(retained),
        scores=np.zeros_like(retained),
        evidence=np.zeros(len(DRIFTS)) if evidence is None else evidence,
    )


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class FilteredWindow:
    """A window together with those before it.

    drift: of the coefficients; see `Drift`.
    past: what the next window takes from this one.
    wanted: lambda_k times the coefficients of the users who reported, as all windows give them, shape of the joint.
    gain: that of the window's own coefficients with which they are `wanted`, likewise.
    errors: those of the coefficients, as functions of the gain.
    """

    drift: Drift
    past: Past
    wanted: FloatArray
    gain: FloatArray
    errors: Errors

    def worth(self, window: Prior) -> float:
        """Compute how many reports like those of the window all windows are worth, over those of the window."""
        retained, varying, N = _retained(window), _varying(window), window.moments.reports
        return _worth(retained[varying], self.errors.about_users(self.gain)[varying], N) / N

    def combined_problem(
        self, window: Problem, *, factor: Sequence[FloatArray] | None = None
    ) -> CombinedProblem | None:
        """Return the problem of estimating the joint from all windows; None if the previous ones add nothing.

        window: that of the window alone, without rows that no report can have.
        factor: see `Prior.learn`.
        """
        prior, retained, varying = window.prior, _retained(window.prior), _varying(window.prior)
        variances = retained**2 * self.errors.about_users(self.gain)
        found = calibrated(window.likelihood, prior, self.wanted, variances)
        if found is None:
            return None
        errors = self.errors.about_users(1.0 - found.reached * (1.0 - self.gain))
        reports = _worth(retained[varying], errors[varying], prior.moments.reports)
        if reports < _MIN_GAIN * prior.moments.reports:
            return None
        weights = found.weights * (reports / prior.moments.reports)
        likelihood = window.likelihood.weighted(weights)
        learnt = Prior.learn(likelihood, factor=factor)
        of_reports = (1.0 - learnt.basis.retained) / (reports * _retained(learnt))
        lacking = np.where(varying, learnt.resolved**2 * np.maximum(errors - of_reports, 0.0), 0.0)
        problem = replace(
            window,
            counts=window.counts.scaled(weights),
            likelihood=likelihood,
            prior=replace(learnt, cautious_errors=learnt.cautious_errors + lacking, lacking=lacking),
        )
        return CombinedProblem(problem, users=reports - prior.moments.reports)


class CombinedProblem(NamedTuple):
    """The problem of estimating a joint from all windows.

    users: M - N.
    """

    problem: Problem
    users: float


def filter_window(past: Past, window: Prior, recurrence: Recurrence) -> FilteredWindow:
    """Put a window together with those before it.

    past: one that fits the window's joint.
    window: the prior that is learnt from the window alone.
    """
    N, means, squares = window.moments
    retained, noise, varying = _retained(window), _noise(window, recurrence), _varying(window)
    before = retained * window.basis.coefficients(past.mean)

    # A report's product with itself enters as its expectation: see `Evidence`.
    residuals = N * (means - before) ** 2 - (squares - means**2) + retained
    known = noise.of_difference(past.variances, past.permanent)
    steps = np.full(retained.shape, float(recurrence.elapsed))
    distances = residuals / (N * retained**2)
    drift = Drift.learn(
        distances[varying], known[varying], steps[varying], past.evidence, forgotten=recurrence.forgotten
    )
    spread = known + drift.variance * steps
    innovations = np.where(varying, (means - before) / (retained * np.sqrt(spread)), 0.0)
    scores = filtered_scores(_scores(past, window), innovations)
    # Marginals that stay are known so well that they would hide how what they leave open moves.
    moved = spread * unexpected(scores, innovations, _attributes_of(retained.shape))
    errors = Errors(variances=past.variances + drift.variance * steps + moved, held=past.permanent, noise=noise)
    gain, gain_about_users = errors.best_gain, errors.best_gain_about_users
    return FilteredWindow(
        drift=drift,
        past=Past(
            mean=window.basis.joint((before + gain * (means - before)) / retained),
            variances=errors.about_population(gain),
            permanent=errors.permanent(gain),
            scores=window.basis.joint(scores) / np.sqrt(window.basis.product),
            evidence=drift.evidence,
        ),
        wanted=before + gain_about_users * (means - before),
        gain=gain_about_users,
        errors=errors,
    )


def _worth(retained: FloatArray, errors: FloatArray, reports: float) -> float:
    """Compute M, at least the reports of the window itself."""
    lost = 1.0 - retained
    noisy = (lost > MIN_RETAINED) & (retained > MIN_RETAINED)
    if not noisy.any():
        return reports
    each = lost[noisy] / (retained[noisy] * errors[noisy])
    return max(reports, float(np.average(np.minimum(each, _MAX_WINDOWS * reports), weights=lost[noisy])))


def _scores(past: Past, window: Prior) -> FloatArray:
    """Compute the scores of the window's coefficients; see `Past`."""
    return np.where(_varying(window), window.basis.coefficients(past.scores * np.sqrt(window.basis.product)), 0.0)


def _attributes_of(sizes: tuple[int, ...]) -> NDArray[np.intp]:
    """Number the sets of attributes that coefficients are about: attribute j adds 2^j."""
    bits: NDArray[np.intp] = reduce(
        np.add.outer, [np.where(np.arange(size) > 0, 1 << j, 0) for j, size in enumerate(sizes)]
    )
    return bits


def _retained(prior: Prior) -> FloatArray:
    return np.maximum(prior.basis.retained, MIN_RETAINED)


def _varying(prior: Prior) -> NDArray[np.bool_]:
    return prior.basis.order > 0


def _noise(prior: Prior, recurrence: Recurrence) -> Noise:
    """Compute the noise of the y_k of one window.

    The permanent responses alone retain the share mu = lambda + c (1 - lambda) of an attribute's function, with c the
    permanent share of its noise. For a product of functions it is the product of their mu.
    """
    N, retained = prior.moments.reports, _retained(prior)
    of_permanent: FloatArray = reduce(
        np.multiply.outer,
        [
            attribute.retained + recurrence.permanent * (1.0 - attribute.retained)
            for attribute in prior.basis.attributes
        ],
    )
    permanent = recurrence.returning * np.maximum(of_permanent - retained, 0.0) / (N * retained)
    return Noise(
        sampling=np.full(retained.shape, (1.0 - recurrence.returning) / N),
        fresh=(1.0 - retained) / (N * retained) - permanent,
        permanent=permanent,
    )
