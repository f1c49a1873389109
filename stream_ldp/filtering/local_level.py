"""The local level model: a Kalman filter for numbers that move from one window to the next.

Each of the numbers d_k that a window estimates is a random walk: from one window to the next, it moves by a step of
variance v c_k, with v the drift and c_k the number's own scale. So a window leaves its estimate m_k, and the mean
squared error s_k of that estimate, to the next. Before the next window's reports, d_k is known with variance V_k =
s_k + v c_k (Kalman, 1960; Harvey, 1989, section 4.1). With a gain K_k and the window's own estimate y_k,

    m_k' = m_k + K_k (y_k - m_k).

A share of the users report in every window, and what is permanent in their reports is the same in each. That part p_k
of the noise never averages out; the rest, and the sampling of the users who are new, does:

    y_k = d_k + p_k + e_k.

With b_k the part of p_k that m_k holds, b_k' = b_k + K_k (1 - b_k), and the mean squared error about the population,
without p_k, which stays, is

    s_k' = (1 - K_k)^2 V_k + K_k^2 Var e_k.

The drift is learnt from the distance of each window from its expected value, y_k - m_k ~ Normal(0, V_k + Var e_k + (1
- b_k)^2 Var p_k). Older windows count less. Numbers that were chosen because they look large are expected to be less,
by what all of them suggest (`FrequencyPrior`). If a window fits no drift seen so far, the population has
jumped: that window is estimated alone, and says nothing of the drift. Numbers that move while the others stay have
more variance than the drift gives them (`tracking`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.filtering.tracking import filtered_scores, unexpected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.filtering.shrinkage import FrequencyPrior

FloatArray = NDArray[np.float64]

#: The values of v that are tried, each 1.7 times the one before. In units of a number's variance among users, they go
#: from the sampling error of a billion users to the whole.
DRIFTS = np.geomspace(1e-9, 1.0, 40)
#: Weight of what a window says of the drift, relative to the next window. Of 0.8, 0.9 and 0.95 none is better by 1 %.
_FORGETTING = 0.9
#: Odds at which a jump is believed: one window in a hundred is expected to have one.
_ODDS_OF_JUMP = 99.0


class Noise(NamedTuple):
    """The variances of the noise in the y_k of one window.

    sampling: of the users who are new, as if each of them reported without noise.
    fresh: of what is drawn anew in every window.
    permanent: Var p_k.
    """

    sampling: FloatArray
    fresh: FloatArray
    permanent: FloatArray

    def of_difference(self, variances: FloatArray, held: FloatArray) -> FloatArray:
        """Compute the variance of y_k - m_k without drift.

        variances: s_k.
        held: b_k.
        """
        return variances + self.fresh + self.sampling + (1.0 - held) ** 2 * self.permanent

    def taken(self, which: NDArray[np.bool_]) -> Noise:
        """Return that of some of the numbers."""
        return Noise(self.sampling[which], self.fresh[which], self.permanent[which])


class Drift(NamedTuple):
    """What is known of the drift after a window.

    variance: v, posterior mean.
    jumped: whether the population has moved as never before.
    evidence: log-likelihood of each of `DRIFTS`, up to a constant, with this window's unless it jumped.
    """

    variance: float
    jumped: bool
    evidence: FloatArray

    @classmethod
    def learn(
        cls,
        squares: FloatArray,
        known: FloatArray,
        steps: FloatArray,
        evidence: FloatArray,
        *,
        forgotten: int = 1,
    ) -> Self:
        """Learn it from one window; all arrays but `evidence` have one shape.

        squares: (y_k - m_k)^2, unbiased.
        known: variance of y_k - m_k without drift.
        steps: what a drift of 1 adds to it.
        evidence: that of earlier windows.
        forgotten: number of windows by which that is older; each takes a part of its weight.
        """
        likelihood = _log_likelihoods(squares, known, steps)
        remembered = _FORGETTING**forgotten * evidence
        weights = _normalised(remembered + likelihood)
        # With equal weights, the drifts are those of an unknown population.
        scaled = np.exp(likelihood - likelihood.max())
        expected_fit, any_at_all = float(_normalised(remembered) @ scaled), float(scaled.mean())
        jumped = any_at_all > _ODDS_OF_JUMP * expected_fit
        after = remembered if jumped else remembered + likelihood
        return cls(float(weights @ DRIFTS), jumped, after - after.max())


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Errors:
    """The errors of m_k' as functions of the gain.

    variances: V_k.
    held: b_k.
    """

    variances: FloatArray
    held: FloatArray
    noise: Noise

    def permanent(self, gain: FloatArray) -> FloatArray:
        """Compute b_k'."""
        return self.held + gain * (1.0 - self.held)

    def about_population(self, gain: FloatArray) -> FloatArray:
        """Compute s_k'."""
        return (1.0 - gain) ** 2 * self.variances + gain**2 * (self.noise.fresh + self.noise.sampling)

    def about_users(self, gain: FloatArray) -> FloatArray:
        """Compute the mean squared error about the users who reported, permanent noise included."""
        return (
            (1.0 - gain) ** 2 * (self.variances + self.noise.sampling)
            + gain**2 * self.noise.fresh
            + self.permanent(gain) ** 2 * self.noise.permanent
        )

    @property
    def best_gain(self) -> FloatArray:
        """The gain at which s_k' + b_k'^2 Var p_k is least."""
        free = 1.0 - self.held
        own = self.noise.fresh + self.noise.sampling + free**2 * self.noise.permanent
        best: FloatArray = (self.variances - self.held * free * self.noise.permanent) / (self.variances + own)
        return np.clip(best, 0.0, 1.0)

    @property
    def best_gain_about_users(self) -> FloatArray:
        """The gain at which `about_users` is least: larger, since the users are those of this window."""
        noise = self.noise._replace(sampling=np.zeros_like(self.noise.sampling))
        return replace(self, variances=self.variances + self.noise.sampling, noise=noise).best_gain


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Level:
    """What a window leaves to the next; every array but `evidence` has one entry a number.

    mean: m_k.
    variances: s_k.
    permanent: b_k.
    scores: of how far behind m_k is, in standard deviations, as in `tracking`; 0 if nothing is known.
    evidence: of the drift, as in `Drift`; 0 if nothing is known.
    """

    mean: FloatArray
    variances: FloatArray
    permanent: FloatArray
    scores: FloatArray
    evidence: FloatArray

    @classmethod
    def first(cls, found: FloatArray, noise: Noise, evidence: FloatArray | None = None) -> Self:
        """Return what a window leaves that was estimated alone."""
        return cls(
            mean=found,
            variances=noise.fresh + noise.sampling,
            permanent=np.ones(len(found)),
            scores=np.zeros(len(found)),
            evidence=np.zeros(len(DRIFTS)) if evidence is None else evidence,
        )

    @classmethod
    def of(
        cls,
        *,
        mean: Sequence[float],
        variances: Sequence[float],
        scores: Sequence[float],
        evidence: Sequence[float],
        permanent: Sequence[float] | None = None,
    ) -> Self:
        """Return what a message says that a window leaves.

        permanent: 1 for each if it is not said.
        """
        return cls(
            mean=np.array(mean, dtype=np.float64),
            variances=np.array(variances, dtype=np.float64),
            permanent=np.ones(len(mean)) if permanent is None else np.array(permanent, dtype=np.float64),
            scores=np.array(scores, dtype=np.float64),
            evidence=np.array(evidence, dtype=np.float64),
        )

    def taken(self, places: NDArray[np.intp]) -> Self:
        """Return what is left of the numbers at these places, in their order."""
        return replace(
            self,
            mean=self.mean[places],
            variances=self.variances[places],
            permanent=self.permanent[places],
            scores=self.scores[places],
        )


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Updated:
    """Numbers as a window and those before it give them.

    mean, standard_error: of each, the error about the population, with all noise.
    reports: weight of previous windows, in reports like those of this window; 0 if they are not used.
    drift: v; None if no window was before.
    jumped: as in `Drift`.
    level: what the next window takes from this one.
    """

    mean: FloatArray
    standard_error: FloatArray
    reports: float
    drift: float | None
    jumped: bool
    level: Level


def filter_step(
    past: Level | None,
    found: FloatArray,
    noise: Noise,
    *,
    scale: FloatArray,
    reports: float,
    elapsed: int = 1,
    forgotten: int = 1,
    prior: FrequencyPrior | None = None,
) -> Updated:
    """Estimate numbers from a window, with the gains of least error, and from those before it.

    past: what the previous window leaves; None if there was none.
    found: y_k, unbiased, shape (numbers,).
    scale: c_k, positive.
    reports: number of reports of the window.
    elapsed: number of windows since the one before.
    forgotten: see `Drift.learn`.
    prior: the distribution of the numbers, if those here were chosen by their estimates.
    """
    alone = Updated(
        mean=found,
        standard_error=np.sqrt(noise.sampling + noise.fresh + noise.permanent),
        reports=0.0,
        drift=None,
        jumped=False,
        level=Level.first(found, noise),
    )
    if past is None:
        return alone
    steps = elapsed * scale
    expected, known = _expected(past, noise, prior)
    drift = Drift.learn((found - expected) ** 2, known, steps, past.evidence, forgotten=forgotten)
    if drift.jumped:
        level = Level.first(found, noise, drift.evidence)
        return replace(alone, drift=drift.variance, jumped=True, level=level)
    spread = known + drift.variance * steps
    innovations = (found - expected) / np.sqrt(spread)
    scores = filtered_scores(past.scores, innovations)
    moved = spread * unexpected(scores, innovations, np.zeros(len(found), dtype=np.intp))
    errors = Errors(variances=past.variances + drift.variance * steps + moved, held=past.permanent, noise=noise)
    gain = errors.best_gain
    mean = past.mean + gain * (found - past.mean)
    variances, permanent = errors.about_population(gain), errors.permanent(gain)
    # A past that holds the same permanent noise is no second witness of what that noise hides.
    weights = (1.0 - gain) / np.maximum(gain, 1e-9)
    return Updated(
        mean=mean,
        standard_error=np.sqrt(variances + permanent**2 * noise.permanent),
        reports=reports * float(np.average(weights, weights=scale)),
        drift=drift.variance,
        jumped=False,
        level=Level(mean=mean, variances=variances, permanent=permanent, scores=scores, evidence=drift.evidence),
    )


def filter_known(
    past: Level,
    places: NDArray[np.intp],
    found: FloatArray,
    noise: Noise,
    *,
    scale: FloatArray,
    reports: float,
    elapsed: int = 1,
    forgotten: int = 1,
    prior: FrequencyPrior | None = None,
) -> Updated:
    """Estimate numbers as `filter_step` does where only some have a past; the others are estimated alone.

    places: the place of each number in `past`, -1 for one that is not there, shape (numbers,).
    """
    known = places >= 0
    alone = filter_step(None, found, noise, scale=scale, reports=reports)
    if not known.any():
        return replace(alone, level=replace(alone.level, evidence=past.evidence))
    after = filter_step(
        past.taken(places[known]),
        found[known],
        noise.taken(known),
        scale=scale[known],
        reports=reports,
        elapsed=elapsed,
        forgotten=forgotten,
        prior=prior,
    )

    def with_others(numbers: FloatArray, others: FloatArray) -> FloatArray:
        every = others.copy()
        every[known] = numbers
        return every

    return replace(
        after,
        mean=with_others(after.mean, alone.mean),
        standard_error=with_others(after.standard_error, alone.standard_error),
        level=Level(
            mean=with_others(after.level.mean, alone.level.mean),
            variances=with_others(after.level.variances, alone.level.variances),
            permanent=with_others(after.level.permanent, alone.level.permanent),
            scores=with_others(after.level.scores, alone.level.scores),
            evidence=after.level.evidence,
        ),
    )


def _expected(past: Level, noise: Noise, prior: FrequencyPrior | None) -> tuple[FloatArray, FloatArray]:
    """Compute mean and variance of y_k given m_k, without drift.

    Of the error of m_k, of variance s_k + b_k^2 Var p_k, y_k has the part b_k Var p_k / (s_k + b_k^2 Var p_k) again.
    With a prior, this error is not taken to be 0 on average, and only what is left of it is unknown.
    """
    if prior is None:
        return past.mean, noise.of_difference(past.variances, past.permanent)
    variance = past.variances + past.permanent**2 * noise.permanent
    drawn = prior.drawn(past.mean, np.sqrt(variance))
    again = past.permanent * noise.permanent / variance
    unknown = (1.0 - again) ** 2 * drawn.standard_deviation**2 + noise.permanent * past.variances / variance
    return drawn.mean + again * drawn.moved, unknown + noise.fresh + noise.sampling


def _log_likelihoods(squares: FloatArray, known: FloatArray, steps: FloatArray) -> FloatArray:
    """Compute the log-likelihood of each of `DRIFTS`, up to a constant; see `Drift.learn`."""
    likelihoods = np.empty(len(DRIFTS))
    for index, drift in enumerate(DRIFTS):
        expected = known + drift * steps
        likelihoods[index] = -0.5 * float((squares / expected + np.log(expected)).sum())
    return likelihoods


def _normalised(logarithms: FloatArray) -> FloatArray:
    weights: FloatArray = np.exp(logarithms - logarithms.max())
    return weights / float(weights.sum())
