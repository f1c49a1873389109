"""The distribution of a number from its perturbed answers: the likeliest one, smooth but for few jumps and peaks.

Expectation maximisation with smoothing (EMS; Li et al., 2020) smooths every distribution alike, however many reports
there are, and so flattens what stands out. Here the square roots of the probabilities are a priori a random walk, the
roughness penalty of Good and Gaskins (1971). Each of its steps has a precision of its own, from a gamma distribution:
Cauchy steps, few of them large. The precisions are learnt from the reports (variational Bayes, as for automatic
relevance determination; MacKay, 1994), so a group of users stands out from a smooth rest. The curvature of the
posterior density at its mode gives the errors (Laplace's approximation).

A number that many users share is a peak at a single place. It is sought first, while the rest is smooth: later, a
plateau of many points has taken its users, and no small step leads from there to the peak. The place lies anywhere
between the points of the grid, since how a number is rounded shows where it was. Two distributions are fitted, one
without peaks and one with them, and each counts by its evidence, the lower bound of variational Bayes. Where peaks
are clear, the estimate is the mean of both. Where none is, the likeliest is tried still: a hump of the estimate may
be a peak, and the errors say so. They also include where peaks may be, and a further one that a smooth rest may hide.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pipeline.curve import Curve, components

#: Shape of the gamma distribution of a precision: a half makes steps of a Cauchy distribution.
_SHAPE = 0.5

#: Precision of a step at the start, times the number of points: smooth, as little data should look. Ten times less
#: leaves noise in smooth distributions at epsilon 0.5, ten times more does not find their peaks.
_START = 100.0

#: Rounds of learning the precisions, where they have settled, so that none changes by this factor, and rounds beside
#: a peak that is not clear: more of them hardly change its errors.
_ROUNDS, _SETTLED, _UNCLEAR = 30, 0.05, 1

#: Power of the evidence by which fits count: a bound is off by some nats. With 1, ranges beside a peak that has just
#: too few reports are covered 0.89 rather than 0.92; with less than a third, those of smooth numbers are wider.
_POWER = 0.4

#: Steps of scoring to the mode in the first round and in each later one, and where it is reached: the log density
#: rises by less, which is far below what one report changes.
_FIRST_STEPS, _STEPS, _RISE = 12, 3, 1e-3

#: The least part of a step of scoring that is tried.
_SMALLEST = 1e-4

#: Places of a peak for each step of the grid: four are less than half of what a report rounds by, and as fine as 10^6
#: reports at epsilon 2 tell.
_PLACES = 4

#: Least rise of the log density by a clear peak, in nats, after which a further one is tried, and most of them. The
#: logarithm of the number of places is 6.2.
_RISE_OF_PEAK, _PEAKS = 6.0, 8

#: How many times the users of a neighbour a point of the grid has at most, where they spread over the cell around it:
#: half a cell is rounded to the neighbour with a chance of 1/4 on the mean, so each has 1/8 of its users and the
#: point 3/4. At an end there is half of the cell: the end has 3/4 of its users and the neighbour 1/4.
_SPREAD, _SPREAD_AT_END = 6.0, 3.0

#: Share of users of a peak beforehand: the mean of one that is tried, and the standard deviation of one that is not
#: found. With half of it, ranges beside a peak are covered less; with twice as much, the errors of smooth numbers of
#: few reports are larger.
_SHARE = 0.2

#: Relative size of what keeps a matrix regular where probabilities are 0.
_RIDGE = 1e-10

#: Reports that are added to each outcome, so that one that nobody has sent leaves no singular matrix.
_NOBODY = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedDistribution:
    """The distribution over the points of a grid, and over peaks.

    points: as shares of the range, ascending from 0 to 1, shape (points,). A peak at a point of the grid is a second
        point there.
    exact: whether the users of a point have this very number, as at a peak; those of others spread around it, bool.
    probability: float64, shape (points,); sums to 1.
    covariance: of the probabilities, with the noise and the sampling of users, shape (points, points); each of its
        rows sums to 0.
    """

    points: NDArray[np.float64]
    exact: NDArray[np.bool_]
    probability: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def numbers(self, least: float, largest: float) -> NDArray[np.float64]:
        """Return the points as numbers of a range; the ends are exactly its own, and steps are short decimals."""
        numbers = least * (1 - self.points) + largest * self.points
        if self.exact.all():
            numbers[1:-1] = [float(f"{each:.12g}") for each in numbers[1:-1].tolist()]
        return numbers

    def curve(self, least: float, largest: float) -> Curve:
        """Return the share of users below each number of a range."""
        return Curve.of(
            self.numbers(least, largest).tolist(),
            self.probability.tolist(),
            components(self.covariance).tolist(),
            exact=self.exact.tolist(),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Peaks:
    """Peaks that are tried, and what a smooth rest beside them leaves open.

    places: of the peaks, as numbers of places.
    clear: whether reports show them rather than humps.
    roots: a start of the square roots of the probabilities, those of the grid and then of the peaks.
    surprise: minus the log of the chance of these places beforehand, in nats. For each, it counts all that are as
        likely.
    unseen: covariance of the probabilities, from a peak that is not found and where the others are, shape (roots,
        roots).
    """

    places: list[int]
    clear: bool
    roots: NDArray[np.float64]
    surprise: float
    unseen: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Learnt:
    """Probabilities of the grid and then of peaks when precisions are learnt, with covariance and evidence."""

    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]
    evidence: float


def fit_distribution(
    channel: NDArray[np.float64], counts: NDArray[np.float64], *, exact: bool = False
) -> FittedDistribution:
    """Fit the distribution of a number to the outcomes that its users have sent.

    channel: P(outcome | point) of evenly spaced points, each above 0, shape (points, outcomes).
    counts: reports with each outcome, shape (outcomes,).
    exact: whether users have no other numbers than these points.
    """
    counts = np.asarray(counts, dtype=np.float64) + _NOBODY
    steps = len(channel) - 1
    grid, places = np.arange(steps + 1), np.linspace(0, steps, (1 if exact else _PLACES) * steps + 1)
    # A number between two points is rounded to either, so its outcomes are those of both.
    of_places = np.stack([np.interp(places, grid, outcome) for outcome in channel.T], axis=1)
    alone, beside = _peaks(channel, of_places, counts)
    fits = [
        _learn(channel, of_places, counts, alone, rounds=_ROUNDS),
        _learn(channel, of_places, counts, beside, rounds=_ROUNDS if beside.clear else _UNCLEAR),
    ]
    weights = _normalised(_POWER * np.array([fit.evidence for fit in fits]))
    every = np.concatenate([grid, places[beside.places]])
    if exact or not beside.clear:
        points, shared, gathered = grid, np.full(len(grid), exact), np.maximum(1 - np.abs(every - grid[:, None]), 0.0)
    else:
        shared = np.arange(len(every)) > steps
        order = np.lexsort((shared, every))
        points, shared, gathered = every[order], shared[order], np.eye(len(every))[order]
    of_fits = np.stack([gathered[:, : len(fit.shares)] @ fit.shares for fit in fits])
    shares = weights @ of_fits if beside.clear else of_fits[0]
    covariance = (of_fits - shares).T * weights @ (of_fits - shares)
    for fit, weight in zip(fits, weights.tolist(), strict=True):
        of_fit = gathered[:, : len(fit.shares)]
        covariance += weight * of_fit @ fit.covariance @ of_fit.T
    shared[~shared] = _stand_out(shares[~shared])
    return FittedDistribution(points=points / steps, exact=shared, probability=shares, covariance=covariance)


def _stand_out(shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which points of a grid have more users than would spread over the cells around them; see `_SPREAD`."""
    most = _SPREAD * np.maximum(np.append(0.0, shares[:-1]), np.append(shares[1:], 0.0))
    most[[0, -1]] *= _SPREAD_AT_END / _SPREAD
    found: NDArray[np.bool_] = shares > most
    return found


def _peaks(
    channel: NDArray[np.float64], of_places: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[_Peaks, _Peaks]:
    """Return no peaks and then those that a smooth rest leaves: the likeliest, and more while they are clear.

    Peaks are taken one by one, each where the log density would rise most if the rest followed, to the second order.
    """
    points, every = len(channel), np.linspace(0, len(channel) - 1, len(of_places))
    of_points = np.maximum(1 - np.abs(every[:, None] - np.arange(points)), 0.0)
    peaks: list[int] = []
    roots, precisions = np.full(points, points**-0.5), np.full(points - 1, _START * points)
    found: list[_Peaks] = []
    reached, surprise = -np.inf, 0.0
    while True:
        rows, prior = np.concatenate([channel, of_places[peaks]]), _prior(precisions, len(peaks))
        roots, curvature = _mode(rows, counts, prior, roots, steps=_FIRST_STEPS)
        density = _log_likelihood(rows, counts, roots) - 0.5 * float(roots @ prior @ roots)
        clear = density - reached >= _RISE_OF_PEAK
        if len(peaks) > 1 and not clear:
            break
        reached = density
        sent = roots**2 @ rows
        slopes = of_places @ (counts / sent) - counts.sum()
        shared = 2 * (of_places * (counts / sent**2)) @ rows.T * roots
        followed = np.linalg.solve(curvature, shared.T).T
        bent = (of_places**2 * (counts / sent**2)).sum(axis=1) - (shared * followed).sum(axis=1)
        bent = np.maximum(bent, _RIDGE * counts.sum())
        # What the users of a peak at each place move, with the rest.
        moved = -2 * roots * followed
        moved[:, :points] += of_points
        moved -= moved.sum(axis=1, keepdims=True) * roots**2 / (roots**2).sum()
        moved *= np.sqrt(_expected_squares(slopes, bent, roots[points:] ** 2))[:, None]
        found.append(_Peaks(places=peaks, clear=clear, roots=roots, surprise=surprise, unseen=moved.T @ moved))
        rises = np.where(slopes > 0, slopes**2 / bent / 2, 0.0)
        rises[peaks] = 0.0
        place = int(rises.argmax())
        if peaks and (len(peaks) == _PEAKS or rises[place] < _RISE_OF_PEAK):
            break
        surprise += float(np.log(len(rises) * _normalised(rises)[place]))
        peaks = [*peaks, place]
        roots = np.append(roots, np.sqrt(np.clip(slopes[place] / bent[place], 0.0, 0.5)))
    return found[0], found[-1]


def _expected_squares(
    slopes: NDArray[np.float64], bent: NDArray[np.float64], held: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the expected squared share of users at each place whom the estimate has elsewhere, shape (places,).

    slopes, bent: of the log density along the share of a further peak at each place, whose curvature `bent` is.
    held: share of users of each found peak, which may be at any place that is about as likely.
    """
    precision = bent + _SHARE**-2
    share = np.maximum(slopes, 0.0) / precision
    chance = _normalised(0.5 * precision * share**2 - 0.5 * np.log(precision))
    found: NDArray[np.float64] = chance * (share**2 + 1 / precision)
    for each in held.tolist():
        found += each**2 * _normalised(slopes * each - 0.5 * bent * each**2)
    return found


def _normalised(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return chances in proportion to the exponentials."""
    found: NDArray[np.float64] = np.exp(logs - logs.max())
    found /= found.sum()
    return found


def _learn(
    channel: NDArray[np.float64],
    of_places: NDArray[np.float64],
    counts: NDArray[np.float64],
    tried: _Peaks,
    *,
    rounds: int,
) -> _Learnt:
    """Learn the precisions of the steps between points, beside peaks."""
    peaks, roots, points = tried.places, tried.roots, len(channel)
    rows = np.concatenate([channel, of_places[peaks]])
    precisions = np.full(points - 1, _START * points)
    rate = _SHAPE / precisions[0]
    for turn in range(rounds):
        prior = _prior(precisions, len(peaks))
        roots, curvature = _mode(rows, counts, prior, roots, steps=_STEPS if turn else _FIRST_STEPS)
        covariance = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
        variances = np.diag(covariance)
        of_steps = (variances[1:] + variances[:-1] - 2 * np.diag(covariance, 1))[: points - 1]
        halves = rate + 0.5 * (np.diff(roots[:points]) ** 2 + np.maximum(of_steps, 0.0))
        before, precisions = precisions, (_SHAPE + 0.5) / halves
        of_halves, rate = rate, _SHAPE * len(precisions) / precisions.sum()
        if np.abs(np.log(precisions / before)).max() < _SETTLED:
            break
    # Less what all fits have in common.
    evidence = (
        _log_likelihood(rows, counts, roots)
        + 0.5 * ((prior * covariance).sum() - np.linalg.slogdet(curvature).logabsdet)
        + (_SHAPE * np.log(of_halves) - (_SHAPE + 0.5) * np.log(halves)).sum()
        - 0.5 * (roots**2 + variances)[points:].sum() / _SHARE
        - 0.5 * np.log(_SHARE) * len(peaks)
        - tried.surprise
    )
    # From square roots to probabilities, whose sum is known.
    total = (roots**2).sum()
    shares = roots**2 / total
    slope = (np.eye(len(roots)) - shares[:, None]) * (2 * roots / total)
    return _Learnt(
        shares=shares,
        covariance=slope @ covariance @ slope.T + tried.unseen,
        evidence=float(evidence),
    )


def _log_likelihood(rows: NDArray[np.float64], counts: NDArray[np.float64], roots: NDArray[np.float64]) -> float:
    """Return it for Poisson counts, whose total then follows: the rows of a channel sum to 1."""
    return float(counts @ np.log(roots**2 @ rows) - counts.sum() * (roots**2).sum())


def _mode(
    rows: NDArray[np.float64],
    counts: NDArray[np.float64],
    prior: NDArray[np.float64],
    roots: NDArray[np.float64],
    *,
    steps: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Climb to the mode of the density of the square roots, by scoring, and return it with the curvature there.

    rows: P(outcome | point or peak), shape (roots, outcomes).
    prior: precision of the roots, shape (roots, roots).
    """

    def density(at: NDArray[np.float64]) -> float:
        return _log_likelihood(rows, counts, at) - 0.5 * float(at @ prior @ at)

    def curvature(at: NDArray[np.float64]) -> NDArray[np.float64]:
        half = rows * (2 * at[:, None]) * (np.sqrt(counts) / (at**2 @ rows))
        # By a matrix times its own transpose, in half of the time of any two.
        found: NDArray[np.float64] = half @ half.T + prior
        found[np.diag_indices(len(at))] += _RIDGE * np.trace(found) / len(at)
        return found

    reached = density(roots)
    for _ in range(steps):
        slope = 2 * roots * (rows @ (counts / (roots**2 @ rows)) - counts.sum()) - prior @ roots
        step = np.linalg.solve(curvature(roots), slope)
        size, least = 1.0, _SMALLEST * float(step @ slope)
        # A root at 0 has no slope: a step that ends there, or beyond, would not leave it again.
        while (rise := density(after := np.maximum(roots + size * step, roots / 2)) - reached) < least * size:
            size /= 2
            if size < _SMALLEST:
                break
        if rise > 0:
            roots, reached = after, reached + rise
        if rise < _RISE:
            break
    return roots, curvature(roots)


def _prior(precisions: NDArray[np.float64], peaks: int) -> NDArray[np.float64]:
    """Return the precision of the roots: of a walk with these precisions of its steps, and of peaks."""
    points = len(precisions) + 1
    found = np.eye(points + peaks) / _SHARE
    found[:points, :points] = _second_differences(precisions)
    return found


def _second_differences(precisions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix of the sum of squared steps of a walk, each times its precision."""
    points = len(precisions) + 1
    found = np.zeros((points, points))
    places = np.arange(points - 1)
    found[places, places] += precisions
    found[places + 1, places + 1] += precisions
    found[places, places + 1] = found[places + 1, places] = -precisions
    return found
