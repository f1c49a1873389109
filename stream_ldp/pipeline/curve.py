"""The curve of a distribution: the share of users below each number, with its error, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pipeline.cells import normal_quantile

#: Part of its whole width that a number may be off, for the rounding of decimals, to be one where the curve jumps.
_OFF = 1e-9

#: Most components of the covariance of a curve, and the share of its trace that they leave out at most.
_COMPONENTS, _LEFT_OUT = 16, 1e-3


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A piecewise linear distribution function, which jumps at numbers that many users share.

    edges: ascending from the least to the largest number; twice where the curve jumps, shape (edges,).
    below: share of users below each edge, from 0 to 1, shape (edges,); of two equal edges, the second has the users
        of this number as well.
    deviations: the covariance of two of these shares is the sum over the components of the products of theirs, shape
        (components, edges).
    """

    edges: NDArray[np.float64]
    below: NDArray[np.float64]
    deviations: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        points: Sequence[float],
        probability: Sequence[float],
        deviations: Sequence[Sequence[float]],
        *,
        exact: Sequence[bool] = (),
    ) -> Curve:
        """Make the curve of a distribution over ascending points.

        deviations: of the shares up to and with each point but the last, shape (components, points - 1).
        exact: whether the users of a point have exactly this number. Users of other points spread evenly over the
            cell around it, up to the middles between it and its neighbours that are not exact. Without it, none are.
        """
        numbers, given = np.asarray(points), np.reshape(np.asarray(deviations), (-1, len(points) - 1))
        jumps = np.asarray(exact, dtype=np.bool_) if len(exact) else np.zeros(len(numbers), dtype=np.bool_)
        shared, spread = numbers[jumps], numbers[~jumps]
        cells = np.concatenate([spread[:1], (spread[1:] + spread[:-1]) / 2, spread[-1:]])
        edges = np.concatenate([cells, shared, shared])
        above = np.arange(len(edges)) >= len(edges) - len(shared)
        order = np.lexsort((above, edges))
        edges, above = edges[order], above[order]
        # The part of the users of each point who are below each edge.
        parts = np.empty((len(edges), len(numbers)))
        parts[:, ~jumps] = np.clip((edges[:, None] - cells[:-1]) / np.diff(cells), 0.0, 1.0)
        parts[:, jumps] = (edges[:, None] > shared) | (above[:, None] & (edges[:, None] == shared))
        moved = np.diff(given, axis=1, prepend=0.0, append=0.0)
        below = parts @ np.asarray(probability)
        return cls(edges=edges, below=np.minimum(below / below[-1], 1.0), deviations=moved @ parts.T)

    def at(
        self, numbers: NDArray[np.float64], *, side: Literal["left", "right"] = "left"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the share of users below each of some numbers, same shape, and the deviations of these shares.

        side: with "right", the users of this very number count, too.

        Returns:
            float64, shapes (numbers,) and (components, numbers).
        """
        off = _OFF * (self.edges[-1] - self.edges[0])
        nearly = numbers + (off if side == "right" else -off)
        last = np.clip(np.searchsorted(self.edges, nearly, side=side), 1, len(self.edges) - 1)
        width = self.edges[last] - self.edges[last - 1]
        part = np.full(len(numbers), float(side == "right"))
        np.divide(numbers - self.edges[last - 1], width, out=part, where=width > 0)
        part = part.clip(0.0, 1.0)
        rows = np.vstack([self.below, self.deviations])
        found = rows[:, last - 1] * (1 - part) + rows[:, last] * part
        return found[0], found[1:]

    def at_bounds(self, bounds: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shares below ascending bounds of cells, with their deviations; the last cell has both its ends.

        bounds: shape (cells + 1,).
        """
        below, deviations = self.at(bounds)
        last, of_last = self.at(bounds[-1:], side="right")
        return np.append(below[:-1], last), np.concatenate([deviations[:, :-1], of_last], axis=1)

    def shares(
        self,
        lows: NDArray[np.float64],
        highs: NDArray[np.float64],
        *,
        side: Literal["left", "right"] = "right",
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shares of users from some numbers to others, and standard errors, same shape.

        side: with "left", the users at the second number do not count.
        """
        (first, before), (last, after) = self.at(lows), self.at(highs, side=side)
        return last - first, np.sqrt(((after - before) ** 2).sum(axis=0))

    def share(self, low: float, high: float, *, side: Literal["left", "right"] = "right") -> tuple[float, float]:
        """Return the share of users from one number to another, and its standard error; see `shares`."""
        (share,), (error,) = self.shares(np.array([low]), np.array([high]), side=side)
        return float(share), float(error)

    def mean(self, low: float, high: float) -> tuple[float, float] | None:
        """Return the mean of the numbers from one to another, and its standard error; None where there are none.

        It is high - (integral of the share below, less that at low) / share, whose error is to the first order.
        """
        places, shares, deviations = self._between(low, high)
        share = float(shares[-1] - shares[0])
        if share <= 0.0:
            return None
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

    def _between(
        self, low: float, high: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return numbers from one to another, the shares up to each and their deviations."""
        within = slice(*np.searchsorted(self.edges, [low, high], side="right"))
        first, last = self.at(np.array([low])), self.at(np.array([low, high]), side="right")
        return (
            np.concatenate([[low, low], self.edges[within], [high]]),
            np.concatenate([first[0], last[0][:1], self.below[within], last[0][1:]]),
            np.concatenate([first[1], last[1][:, :1], self.deviations[:, within], last[1][:, 1:]], axis=1),
        )


def components(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the covariance of the shares up to each point comes from; see `Curve.of`.

    covariance: of the probabilities of the points, shape (points, points).

    Returns:
        float64, shape (components, points - 1), the largest first.
    """
    of_shares = covariance.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
    # Relative to the error of each share: one that is large at a few points leaves the others theirs.
    error = np.sqrt(np.maximum(np.diag(of_shares), 0.0))
    inverse = np.divide(1.0, error, out=np.zeros(len(error)), where=error > 0)
    values, vectors = np.linalg.eigh((of_shares + of_shares.T) / 2 * inverse * inverse[:, None])
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1] * error[:, None]
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
