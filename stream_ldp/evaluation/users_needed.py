"""How many users it takes until an estimate is as near to the truth as is wanted, found by trying.

The distance falls with the number of users about as one over its root. So the logarithms of the two are nearly on a
line. Its slope is expected to be -1/2, and fitted to the measurements near the wanted distance. The number at which
the line has that distance is measured again, until its standard error is small. Where nothing near is found, as where
a distance falls all at once, the search halves what is left between too few users and enough.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

#: Most users that are tried: their reports are in memory all at once.
MAX_USERS = 1_000_000
#: Most numbers of users that are tried.
_STEPS = 24
#: Logarithm of the ratio to the wanted distance within which the line is fitted: a factor of two.
_NEAR = math.log(2.0)
#: What a distance off the wanted one may be off the line, as a share of the logarithm of their ratio.
_BENT = 0.1
#: The slope that is expected, and its standard deviation: from -0.1 to -0.9 within two of them.
_SLOPE, _SLOPE_DEVIATION = -0.5, 0.2
#: Relative standard error of a distance that is measured near the wanted one. The number of users has twice as much.
_PRECISION = 0.025
#: Least relative error of a measured distance: that of repeats without any deviation.
_MIN_ERROR = 0.002
#: Relative standard error of the number of users at which the search ends.
_ENOUGH = 0.06
#: Logarithm of the ratio to the wanted distance within which it is taken to be reached, whatever its error.
_REACHED = 0.02
#: Fewest repeats, whose standard deviation means something, and most, as a multiple of those asked for.
_MIN_REPEATS, _MAX_REPEATS = 5, 20
#: Largest logarithm of a ratio of distances: beyond, a distance is as good as 0, or a wanted one is.
_FAR = 10.0


class Distance(NamedTuple):
    """A distance from the truth as some repeats show it: its mean, and the standard deviation over the repeats."""

    mean: float
    deviation: float


class Needed(NamedTuple):
    """The number of users that a distance takes, and its standard error; both to two digits."""

    users: int
    error: int


class _Point(NamedTuple):
    """A measured number of users.

    place: logarithm of the number.
    height: that of the ratio of the distance to the wanted one.
    error: standard error of the height.
    """

    place: float
    height: float
    error: float


def _crossing(points: list[_Point]) -> tuple[float, float]:
    """Compute the place where a line through points has height 0, and its standard error, by Bayesian regression."""
    places, heights, errors = np.array(points).T
    variances = errors**2 + (_BENT * heights) ** 2
    middle = float(np.average(places, weights=1.0 / variances))
    at = np.stack([np.ones_like(places), places - middle], axis=1)
    prior = np.diag([0.0, _SLOPE_DEVIATION**-2])
    covariance = np.linalg.inv(at.T @ (at / variances[:, None]) + prior)
    level, slope = covariance @ (at.T @ (heights / variances) + prior @ [0.0, _SLOPE])
    slope = min(float(slope), -1.0 / _FAR)
    off = -float(level) / slope
    error = math.sqrt(float(np.array([1.0, off]) @ covariance @ np.array([1.0, off]))) / -slope
    return middle + off, error


def users_needed(
    wanted: float, *, users: int, repeats: int, measure: Callable[[int, int, int], Distance]
) -> Needed | None:
    """Search for the number of users with which the mean distance is as wanted.

    wanted: above 0.
    users: the number to begin with.
    repeats: those of a number of users far off, at least 1; as many more as it takes near the wanted distance.
    measure: measures the distance of a number of users, in so many repeats, of this step: repeats of another step
        are drawn anew.

    Returns:
        None if it is above `MAX_USERS`, or if a distance that hardly falls any more does not come to it.
    """
    points: list[_Point] = []
    number, times = min(users, MAX_USERS), max(repeats, _MIN_REPEATS)
    for step in range(_STEPS):
        found = measure(number, times, step)
        last = _point(number, found, wanted=wanted, repeats=times)
        points.append(last)
        if number == 1 and last.height <= 0.0:
            return Needed(1, 0)
        if number == MAX_USERS and last.height > 2.0 * last.error:
            return None
        low, high = _bounds(points)
        if high - low < _ENOUGH:
            return _needed(high, high - low)
        near = [point for point in points if abs(point.height) < _NEAR]
        if near:
            place, error = _crossing(near)
            if error < _ENOUGH and abs(last.height) < max(2.0 * last.error, _REACHED):
                return _needed(place, error)
            enough = math.ceil((found.deviation / (_PRECISION * wanted)) ** 2)
            times = min(max(enough, repeats, _MIN_REPEATS), _MAX_REPEATS * max(repeats, _MIN_REPEATS))
        elif math.isfinite(low + high):
            place = (low + high) / 2.0
        else:
            place = last.place + 2.0 * last.height
        # Between too few users and enough, no step may stay where it is, or leave what is known of both.
        if math.isfinite(low + high):
            place = min(max(place, 0.9 * low + 0.1 * high), 0.1 * low + 0.9 * high)
        else:
            place = min(max(place, low + _ENOUGH), high - _ENOUGH)
        number = min(max(1, round(math.exp(min(place, math.log(MAX_USERS))))), MAX_USERS)
    _, high = _bounds(points)
    return None if math.isinf(high) else _needed(high, 1.0)


def _bounds(points: list[_Point]) -> tuple[float, float]:
    """Return the place of the most users that are surely too few, and of the fewest beyond that surely are enough."""
    low = max((each.place for each in points if each.height > 2.0 * each.error), default=-math.inf)
    enough = (point.place for point in points if point.height < -2.0 * point.error and point.place > low)
    return low, min(enough, default=math.inf)


def _point(number: int, found: Distance, *, wanted: float, repeats: int) -> _Point:
    mean = max(found.mean, wanted * math.exp(-_FAR))
    error = found.deviation / (mean * math.sqrt(repeats))
    return _Point(math.log(number), min(math.log(mean) - math.log(wanted), _FAR), max(error, _MIN_ERROR))


def _needed(place: float, error: float) -> Needed:
    """Return the number of users at a place that is known to such an error."""
    users = math.exp(place)
    return Needed(*(int(float(f"{number:.1e}")) for number in (users, error * users)))
