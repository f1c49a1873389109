"""The curve of a distribution: the share of users below each number, with its error, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pipeline.cells import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Most components of the covariance of a curve, and the share of its trace that they leave out at most.
_COMPONENTS, _LEFT_OUT = 16, 1e-3


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A piecewise linear distribution function, whose probability at a point spreads evenly over the cell around it.

    edges: bounds of the cells, ascending, shape (cells + 1,).
    below: share of users below each edge, from 0 to 1, shape (cells + 1,).
    deviations: the covariance of two of these shares is the sum over the components of the products of theirs, shape
        (components, cells + 1); 0 at both ends.
    """

    edges: NDArray[np.float64]
    below: NDArray[np.float64]
    deviations: NDArray[np.float64]

    @classmethod
    def of(
        cls, points: Sequence[float], probability: Sequence[float], deviations: Sequence[Sequence[float]]
    ) -> Curve:
        """Make the curve of a distribution over ascending points.

        deviations: of the shares up to and with each point but the last, shape (components, points - 1).
        """
        numbers, inner = np.asarray(points), np.reshape(np.asarray(deviations), (-1, len(points) - 1))
        ends = np.zeros((len(inner), 1))
        below = np.concatenate([[0.0], np.cumsum(probability)])
        return cls(
            edges=np.concatenate([numbers[:1], (numbers[1:] + numbers[:-1]) / 2, numbers[-1:]]),
            below=np.minimum(below / below[-1], 1.0),
            deviations=np.concatenate([ends, inner, ends], axis=1),
        )

    def shares(
        self, lows: NDArray[np.float64], highs: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shares of users from some numbers to others, and their standard errors, each of their shape."""
        first, last = (np.interp(each, self.edges, self.below) for each in (lows, highs))
        variance = np.zeros_like(first)
        for each in self.deviations:
            variance += (np.interp(highs, self.edges, each) - np.interp(lows, self.edges, each)) ** 2
        return last - first, np.sqrt(variance)

    def share(self, low: float, high: float) -> tuple[float, float]:
        """Return the share of users from one number to another, and its standard error."""
        (share,), (error,) = self.shares(np.array([low]), np.array([high]))
        return float(share), float(error)

    def mean(self, low: float, high: float) -> tuple[float, float] | None:
        """Return the mean of the numbers from one to another, and its standard error; None where there are none.

        It is high - (integral of the share below, less that at low) / share, whose error is to the first order.
        """
        share, _ = self.share(low, high)
        if share <= 0.0:
            return None
        places = np.unique(np.concatenate([[low], self.edges[(self.edges > low) & (self.edges < high)], [high]]))
        shares = np.interp(places, self.edges, self.below)
        deviations = np.stack([np.interp(places, self.edges, each) for each in self.deviations] or [places * 0])
        area = float(np.trapezoid(shares - shares[0], places))
        mean = high - area / share
        areas = np.trapezoid(deviations - deviations[:, :1], places, axis=1)
        moved = ((high - mean) * (deviations[:, -1] - deviations[:, 0]) - areas) / share
        return mean, float(np.sqrt(moved @ moved))

    def quantile(self, probability: float) -> float:
        """Return the number that so large a share of the users is below."""
        return float(_crossing(self.below, self.edges, probability))

    def quantile_interval(self, probability: float, level: float) -> tuple[float, float]:
        """Return the numbers at which the interval of the share below ceases to hold the probability.

        It has the level of the intervals of these shares (Woodruff, 1952), and needs no density, which is what a
        standard error of a quantile divides by.
        """
        spread = normal_quantile(level) * np.sqrt((self.deviations**2).sum(axis=0))
        highest = np.maximum.accumulate(self.below + spread)
        lowest = np.minimum.accumulate((self.below - spread)[::-1])[::-1]
        low = _crossing(highest, self.edges, probability)
        high = _crossing(lowest, self.edges, probability)
        return float(low), float(high)


def components(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the covariance of the shares up to each point comes from; see `Curve.of`.

    covariance: of the probabilities of the points, shape (points, points).

    Returns:
        float64, shape (components, points - 1), the largest first.
    """
    of_shares = covariance.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
    values, vectors = np.linalg.eigh((of_shares + of_shares.T) / 2)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    total = values.sum()
    if not total:
        return np.zeros((0, len(values)))
    kept = min(_COMPONENTS, int(np.searchsorted(values.cumsum(), (1 - _LEFT_OUT) * total)) + 1)
    found: NDArray[np.float64] = (vectors[:, :kept] * np.sqrt(values[:kept])).T
    return found


def _crossing(rising: NDArray[np.float64], edges: NDArray[np.float64], level: float) -> float:
    """Return the first number at which a rising, piecewise linear curve reaches a level; an end if it does not."""
    place = int(np.searchsorted(rising, level))
    if place == 0:
        return float(edges[0])
    if place == len(rising):
        return float(edges[-1])
    low, high = rising[place - 1], rising[place]
    return float(edges[place - 1] + (level - low) / (high - low) * (edges[place] - edges[place - 1]))
