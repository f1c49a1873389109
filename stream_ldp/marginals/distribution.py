"""The distribution of a number from its perturbed answers: the likeliest one that is smooth but for few jumps.

Expectation maximisation with smoothing (EMS; Li et al., 2020) smooths every distribution alike, however many reports
there are, and so flattens what stands out. Here the square roots of the probabilities are a priori a random walk, the
roughness penalty of Good and Gaskins (1971). Each of its steps has a precision of its own, from a gamma
distribution: steps of a Cauchy distribution, of which few may be large. The precisions are learnt from the reports
(variational Bayes, as for automatic relevance determination; MacKay, 1994), so a value that many users share stays a
peak beside a smooth rest. The curvature of the posterior density at its mode gives the errors (Laplace's
approximation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Shape of the gamma distribution of a precision: a half makes steps of a Cauchy distribution.
_SHAPE = 0.5

#: Precision of a step at the start, times the number of points: smooth, as little data should look. Ten times less
#: leaves noise in smooth distributions at epsilon 0.5, ten times more does not find their peaks.
_START = 100.0

#: Rounds of learning the precisions, and where they have settled: no precision changes by this factor.
_ROUNDS, _SETTLED = 30, 0.05

#: Steps of scoring to the mode in the first round and in each later one, and where it is reached: the log density
#: rises by less, which is far below what one report changes.
_FIRST_STEPS, _STEPS, _RISE = 12, 3, 1e-3

#: The least part of a step of scoring that is tried.
_SMALLEST = 1e-4

#: Relative size of what keeps a matrix regular where probabilities are 0.
_RIDGE = 1e-10

#: Reports that are added to each outcome, so that one that nobody has sent leaves no singular matrix.
_NOBODY = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedDistribution:
    """The distribution over the points of a grid.

    probability: float64, shape (points,); sums to 1.
    covariance: of the probabilities, with the noise and the sampling of users, shape (points, points); each of its
        rows sums to 0.
    """

    probability: NDArray[np.float64]
    covariance: NDArray[np.float64]


def fit_distribution(channel: NDArray[np.float64], counts: NDArray[np.float64]) -> FittedDistribution:
    """Fit the distribution of a number to the outcomes that its users have sent.

    channel: P(outcome | point), each above 0, shape (points, outcomes).
    counts: reports with each outcome, shape (outcomes,).
    """
    points = len(channel)
    counts = np.asarray(counts, dtype=np.float64) + _NOBODY
    roots, precisions = np.full(points, points**-0.5), np.full(points - 1, _START * points)
    rate = _SHAPE / precisions[0]
    covariance: NDArray[np.float64] = np.eye(points)
    for turn in range(_ROUNDS):
        roots, curvature = _mode(channel, counts, precisions, roots, steps=_STEPS if turn else _FIRST_STEPS)
        covariance = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
        variances = np.diag(covariance)
        squares = np.diff(roots) ** 2 + np.maximum(variances[1:] + variances[:-1] - 2 * np.diag(covariance, 1), 0.0)
        before, precisions = precisions, (_SHAPE + 0.5) / (rate + 0.5 * squares)
        rate = _SHAPE * len(precisions) / precisions.sum()
        if np.abs(np.log(precisions / before)).max() < _SETTLED:
            break
    shares = roots**2 / (roots**2).sum()
    # From square roots to probabilities, whose sum is known.
    slope = (np.eye(points) - shares[:, None]) * (2 * roots / (roots**2).sum())
    return FittedDistribution(probability=shares, covariance=slope @ covariance @ slope.T)


def _mode(
    channel: NDArray[np.float64],
    counts: NDArray[np.float64],
    precisions: NDArray[np.float64],
    roots: NDArray[np.float64],
    *,
    steps: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Climb to the mode of the density of the square roots, by scoring, and return it with the curvature there.

    The reports are taken for Poisson counts, whose total then follows: the rows of a channel sum to 1.
    """
    reports = counts.sum()
    walk = _second_differences(precisions)

    def density(at: NDArray[np.float64]) -> float:
        shares = at**2
        return float(counts @ np.log(shares @ channel) - reports * shares.sum() - 0.5 * at @ walk @ at)

    def curvature(at: NDArray[np.float64]) -> NDArray[np.float64]:
        information = (channel * (counts / (at**2 @ channel) ** 2)) @ channel.T
        found: NDArray[np.float64] = 4 * at[:, None] * information * at + walk
        found[np.diag_indices(len(at))] += _RIDGE * np.trace(found) / len(at)
        return found

    reached = density(roots)
    for _ in range(steps):
        slope = 2 * roots * (channel @ (counts / (roots**2 @ channel)) - reports) - walk @ roots
        step = np.linalg.solve(curvature(roots), slope)
        size = 1.0
        # The sign of a root says nothing.
        while density(np.abs(roots + size * step)) < reached + _SMALLEST * size * (step @ slope) and size > _SMALLEST:
            size /= 2
        after = np.abs(roots + size * step)
        rise = density(after) - reached
        if rise > 0:
            roots, reached = after, reached + rise
        if rise < _RISE:
            break
    return roots, curvature(roots)


def _second_differences(precisions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix of the sum of squared steps of a walk, each times its precision."""
    points = len(precisions) + 1
    found = np.zeros((points, points))
    places = np.arange(points - 1)
    found[places, places] += precisions
    found[places + 1, places + 1] += precisions
    found[places, places + 1] = found[places + 1, places] = -precisions
    return found
