"""What slots show of items, where users have reported how large their sets are.

Of a set of s candidates, a phase with l slots counts each with a weight, such as l / s where a slot is drawn of them.
So frequencies are too low, by a part that depends on the sizes and on how popular an item is: rare ones are mostly in
large sets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.sets.item_sets import largest_of
from stream_ldp.sets.methods.larger_sets import doubted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.sets.phases import FoundSizes, RankingEstimate

#: A set of a class has this share of its largest size, where the class has more sizes than two.
_USUAL = 0.75
#: Power g of its size with which a set comes by items, and two others for the doubt: of seven generated populations,
#: the power that gives single items without noise what they have was between 0.75 and 1.4, and mostly nearly 1.1.
_GROWTH, _GROWTHS = 1.1, (0.8, 1.4)
#: Popularities of items: a set of one item holds one with about this probability.
_POPULARITIES = np.geomspace(1e-7, 1e2, 400)[:, None]
#: Shares of a class that are considered; half of the classes are taken to be empty, and the others to have a tenth.
_SHARES = np.linspace(0.0, 1.0, 1_001)[1:]
_EMPTY, _USUAL_SHARE = 0.5, 0.1
#: Steps to the number of candidates in a set, which depends on how frequent they are: each halves what is left at
#: least.
_STEPS = 12
#: Numbers of candidates in the sets of a class, as parts of their mean, each as often: sizes are from a half of the
#: largest to all of it, and chance decides which of the items are candidates.
_SPREAD = np.array([0.58, 0.84, 1.0, 1.16, 1.42])[:, None]
#: By how much what one item has lost differs from that of others as frequent, as a share of it.
_UNLIKE = 0.25
#: Largest part of all items that a set is taken to have.
_MOST = 0.95
#: Half of the distance over which a slope is taken.
_NEAR = 1e-4


def usual_sizes(count: int, *, domain: int) -> NDArray[np.float64]:
    """Return the usual size of a set of each class, float64, shape (count,)."""
    largest = np.array([largest_of(number, domain=domain) for number in range(count)], dtype=np.float64)
    return np.where(largest <= 2.0, largest, _USUAL * largest)


def whole(
    estimate: RankingEstimate,
    sizes: FoundSizes,
    *,
    domain: int,
    shown: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> RankingEstimate:
    """Return the frequencies of candidates from those that a phase has counted, with the doubt about the sizes.

    A set of s items is taken to hold an item of popularity a with probability 1 - exp(-a s^g), as if items came by
    chance one after another. The doubt has three parts: the power g, the noise of each class of sizes, and what an
    item may have lost more or less than others that are as frequent.

    estimate: of all candidates of the phase.
    shown: weight of an item of sets with so many candidates, as the oracle of the phase counts it.
    """
    share, error = _posterior(sizes)
    effort = -domain * np.log1p(-np.minimum(usual_sizes(len(share), domain=domain) / domain, _MOST))

    def found(share: NDArray[np.float64], growth: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return _held(estimate.frequency, share / max(float(share.sum()), _NEAR), effort**growth, shown)

    frequency, slope = found(share, _GROWTH)
    growths = np.array([found(share, growth)[0] for growth in _GROWTHS])
    moved = [found(share + step, _GROWTH)[0] - frequency for step in np.diag(error)]
    unlike = _UNLIKE * (frequency - estimate.frequency)
    off = np.sqrt(np.mean((growths - frequency) ** 2, axis=0) + np.sum(np.square(moved), axis=0) + unlike**2)
    scaled = replace(
        estimate,
        frequency=frequency,
        standard_error=slope * estimate.standard_error,
        noise=None if estimate.noise is None else slope * estimate.noise,
        unseen=None if estimate.unseen is None else slope * estimate.unseen,
    )
    return doubted(scaled, off / np.maximum(np.abs(frequency), np.finfo(np.float64).tiny))


def _held(
    counted: NDArray[np.float64],
    share: NDArray[np.float64],
    effort: NDArray[np.float64],
    shown: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute how frequent items are that have been counted so often, and how much a frequency grows with its count.

    counted: shape (c,).
    share: of the users, of each class; it sums to 1.
    effort: s^g of each class.
    """
    holds = -np.expm1(-_POPULARITIES * effort)
    true = np.concatenate(([0.0], holds @ share))

    def frequency(counted: NDArray[np.float64]) -> NDArray[np.float64]:
        # Beyond what the most popular item can have, frequencies grow as their counts do.
        size = np.abs(counted)
        held: NDArray[np.float64] = np.interp(size, seen, true) + np.maximum(size - seen[-1], 0.0)
        return np.sign(counted) * held

    seen = true
    for _ in range(_STEPS):
        now = frequency(counted)
        popularity = np.interp(np.abs(now), true[1:], _POPULARITIES[:, 0])
        held = np.sign(now) @ -np.expm1(-popularity[:, None] * effort)
        weight = shown(np.clip(held * _SPREAD, 1.0, len(counted))).mean(axis=0)
        seen = np.concatenate(([0.0], holds @ (share * weight)))
    slope = (frequency(counted + _NEAR) - frequency(counted - _NEAR)) / (2.0 * _NEAR)
    return frequency(counted), np.maximum(slope, 1.0)


def _posterior(sizes: FoundSizes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the posterior mean and standard deviation of the share of each class, shape (classes,) each."""
    estimate = np.array(sizes.share)[:, None]
    step = _SHARES[1] - _SHARES[0]
    prior = np.concatenate(([np.log(_EMPTY)], np.log((1.0 - _EMPTY) * step / _USUAL_SHARE) - _SHARES / _USUAL_SHARE))
    shares = np.concatenate(([0.0], _SHARES))
    log_posterior = prior - 0.5 * ((estimate - shares) / max(sizes.standard_error, step)) ** 2
    likely = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    mean = likely @ shares
    return mean, np.sqrt(np.maximum(likely @ shares**2 - mean**2, 0.0))
