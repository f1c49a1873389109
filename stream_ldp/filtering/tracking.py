"""Numbers that move while others stay: evidence of windows about one number, or a group, apart from the rest.

The local level model of `local_level` has one drift for all numbers. If few of them move, the others hold it down,
and the few lag further behind from window to window, with errors that know nothing of it. What betrays them is that
they are missed on the same side again and again. So each number has a score, which each window passes to the next: a
sum of its standardised innovations z_k = (y_k - m_k) / sd_k, which are independent where the model is right. Older
windows count less, as in the tracking signal of Trigg (1964),

    h_k' = phi h_k + (1 - phi^2)^(1/2) z_k.

Without lag its variance is 1. A number that every window misses by l standard deviations comes to have the score
l ((1 + phi) / (1 - phi))^(1/2), from which its lag follows.

For each number, and for each group of numbers, two hypotheses are weighed: that nothing moves, so that scores are
normal with variance 1, and that something does, with variance 1 + g. The excess of the squares above 1 is added, as
far as the second is believed, to the variance of the prediction (the multi-process model of Harrison and Stevens,
1976, collapsed). The same is done with the z_k of a group alone. A jump is believed at longer odds there, since one
window is all the evidence.
"""

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Weight of a window's score relative to the next window's, as that of its evidence of the drift.
_FORGETTING = 0.9
#: Square of a lag in every window, in squares of the score that it leads to.
_SQUARED_LAG = (1.0 - _FORGETTING) / (1.0 + _FORGETTING)
#: Chance that a number, or a group, lags behind: as likely as not. Where dependence drifts and marginals stay, 0.1
#: errs up to 8 % more, and covers up to 7 % less; where nothing moves, 0.5 errs 0 to 3 % more than 0.1.
_CHANCE_OF_LAG = 0.5
#: Numbers as many as which that chance counts beside what the others of a group say. Where one of six numbers moves,
#: 1 errs 4 % more than 4, and 16 errs 2 % less; of large tables that stay, each of them takes 0.2 % more.
_WEIGHT_OF_CHANCE = 4.0
#: Rounds in which the numbers of a group share how many of them lag behind; more differ by 0.002.
_ROUNDS = 10
#: Chance that a group jumps in a given window. With 0.01, what does not move errs up to 10 % more; with 0.001, the
#: windows after a jump of the dependence of four values alone err a quarter more.
_CHANCE_OF_JUMP = 0.003
#: Largest score, in standard deviations, whose square floats can still add up.
_MOST = 1e6
#: The values of g that are tried: from what hardly differs from chance to 50 standard deviations.
_EXCESSES = np.geomspace(1.0, 2_500.0, 12)


def filtered_scores(scores: FloatArray, innovations: FloatArray) -> FloatArray:
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
    # What is on a log may have been written by anyone: beyond this, all scores are those of a jump.
    scores, innovations = np.clip(scores, -_MOST, _MOST), np.clip(innovations, -_MOST, _MOST)
    squares, sizes = scores**2, np.maximum(_sums(np.ones_like(scores), groups), 1.0)
    lag = np.maximum(_of_numbers(squares, groups, sizes), _of_groups(squares, groups, sizes, _CHANCE_OF_LAG))
    return np.maximum(_SQUARED_LAG * lag, _of_groups(innovations**2, groups, sizes, _CHANCE_OF_JUMP))


def _of_numbers(squares: FloatArray, groups: NDArray[np.intp], sizes: FloatArray) -> FloatArray:
    """Compute what squares have beyond 1, each by itself, as far as it is believed.

    Of many numbers, some look by chance as if they lagged behind. How many do is what the others of their group say
    (the two groups of Efron, 2008).
    """
    odds, chances = _log_odds(squares, np.ones(1)), np.full(squares.shape, _CHANCE_OF_LAG)
    for _ in range(_ROUNDS if sizes.max() > 1.0 else 0):  # by itself, each is as likely as not to lag
        belief = _belief(odds, chances)
        others = _sums(belief, groups)[groups] - belief
        chances = (_WEIGHT_OF_CHANCE * _CHANCE_OF_LAG + others) / (_WEIGHT_OF_CHANCE + sizes[groups] - 1.0)
    return _belief(odds, chances) * np.maximum(squares - 1.0, 0.0)


def _of_groups(squares: FloatArray, groups: NDArray[np.intp], sizes: FloatArray, chance: float) -> FloatArray:
    """Compute what the squares of a group have beyond 1 on average, as far as it is believed."""
    totals = _sums(squares, groups)
    found = _belief(_log_odds(totals, sizes), chance) * np.maximum(totals / sizes - 1.0, 0.0)
    return found[groups]


def _sums(numbers: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
    """Add up the numbers of each group."""
    return np.bincount(groups.ravel(), weights=numbers.ravel()).astype(np.float64)


def _log_odds(totals: FloatArray, sizes: FloatArray) -> FloatArray:
    """Compute how much likelier squares are with variance 1 + g than with 1, as a logarithm.

    totals: sums of as many squares as `sizes` says.
    """
    g = _EXCESSES
    ratios = 0.5 * (totals[..., None] * (g / (1.0 + g)) - sizes[..., None] * np.log1p(g))
    most = ratios.max(axis=-1)
    odds: FloatArray = np.log(np.exp(ratios - most[..., None]).mean(axis=-1)) + most
    return odds


def _belief(log_odds: FloatArray, chance: FloatArray | float) -> FloatArray:
    """Compute the probability of what had a chance before the squares were seen."""
    # With e to the 700th for anything larger, floats have no overflow.
    return 1.0 / (1.0 + (1.0 - chance) / chance * np.exp(-np.clip(log_odds, -700.0, 700.0)))
