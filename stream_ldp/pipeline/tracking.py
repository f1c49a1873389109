"""Numbers that move while others stay: what windows say of one of them, or of a group, apart from the rest.

The local level model of `local_level` has one drift for all numbers. If few of them move, the others hold it down,
and the few lag further behind from window to window, with errors that know nothing of it. What betrays them is that
they are missed on the same side again and again. So each number has a score, which windows leave to each other: a sum
of its standardised innovations z_k = (y_k - m_k) / sd_k, which are independent where the model is right, with older
windows counting less, as in the tracking signal of Trigg (1964),

    h_k' = phi h_k + (1 - phi^2)^(1/2) z_k.

Without lag its variance is 1. A number that every window misses by l standard deviations comes to have the score
l ((1 + phi) / (1 - phi))^(1/2), from which its lag follows.

For each number, and for each group of numbers, two hypotheses are weighed: that nothing moves, so that scores are
normal with variance 1, and that something does, with variance 1 + g. What the squares have beyond 1, as far as the
second is believed, is added to the variance of what was expected before the window (the multi-process model of
Harrison and Stevens, 1976, collapsed). The same is done with z_k alone, of which a jump is believed at longer odds,
since it is what one window says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

__all__ = ["followed", "unexpected"]

if TYPE_CHECKING:
    FloatArray = NDArray[np.float64]

#: Weight of a window's score relative to the next window's, as that of its evidence of the drift.
_FORGETTING = 0.9
#: Square of a lag in every window, in squares of the score that it leads to.
_LAG = (1.0 - _FORGETTING) / (1.0 + _FORGETTING)
#: Chance that a number, or a group, lags behind: as likely as not. Where dependence drifts and marginals stay, 0.1
#: errs up to 15 % more, and covers up to 8 % less; where nothing moves, 0.5 errs 0 to 3 % more than 0.1.
_CHANCE_OF_LAG = 0.5
#: Chance that it jumps in a given window. With 0.01, what does not move errs up to 20 % more; with 0.001, the window
#: after a jump of the dependence of four values alone errs a quarter more.
_CHANCE_OF_JUMP = 0.002
#: The values of g that are tried: from what hardly differs from chance to 50 standard deviations.
_EXCESSES = np.geomspace(1.0, 2_500.0, 12)


def followed(scores: FloatArray, innovations: FloatArray) -> FloatArray:
    """Compute the scores h_k' after a window.

    scores: h_k, 0 if nothing is known of a number.
    innovations: z_k, of the same shape.
    """
    return _FORGETTING * scores + math.sqrt(1.0 - _FORGETTING**2) * innovations


def unexpected(scores: FloatArray, innovations: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
    """Compute the variance by which numbers have moved beyond what was expected of them.

    scores: h_k with this window.
    innovations: z_k of this window.
    groups: number of each one's group, from 0; those of a group may move together while the others stay.

    Returns:
        In units of the variance of y_k - m_k, at least 0, of the shape of the scores.
    """
    lag, jump = (
        _believed(found**2, groups, chance)
        for found, chance in ((scores, _CHANCE_OF_LAG), (innovations, _CHANCE_OF_JUMP))
    )
    return np.maximum(_LAG * lag, jump)


def _believed(squares: FloatArray, groups: NDArray[np.intp], chance: float) -> FloatArray:
    """Compute what squares have beyond 1 by themselves or in their group, whichever is more."""
    sizes, totals = (
        np.bincount(groups.ravel(), weights=weights).astype(np.float64)
        for weights in (np.ones(squares.size), squares.ravel())
    )
    of_groups = _excess(totals, np.maximum(sizes, 1.0), chance)
    return np.maximum(_excess(squares, np.ones(1), chance), of_groups[groups])


def _excess(totals: FloatArray, sizes: FloatArray, chance: float) -> FloatArray:
    """Compute the mean of what squares have beyond 1, times how far it is believed that they have.

    totals: sums of squares, which without excess are chi-squared with `sizes` degrees of freedom.
    """
    g = _EXCESSES
    ratios = 0.5 * (totals[..., None] * (g / (1.0 + g)) - sizes[..., None] * np.log1p(g))
    most = ratios.max(axis=-1)
    odds = np.log(np.exp(ratios - most[..., None]).mean(axis=-1)) + most + np.log(chance / (1.0 - chance))
    # With e to the 700th for anything larger, floats have no overflow.
    believed: FloatArray = 1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0)))
    return believed * np.maximum(totals / sizes - 1.0, 0.0)
