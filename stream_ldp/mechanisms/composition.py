"""The composition of one bound many times, numerically: epsilon for a delta, of what is done again and again.

A mechanism's delta as a function of epsilon says all about how well two inputs are distinguished by it. A function
that is never below it belongs to a pair of distributions that are distinguished at least as well. To compose the pair
is to compose the mechanism, even where the next step depends on the results of those before (Zhu, Dong and Wang,
2022, "Optimal accounting of differential privacy via characteristic function", theorem 10).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

#: Places of the privacy loss on either side of 0: a spread over so many makes a bound larger by less than a
#: hundredth.
_PLACES = 24

#: Delta at the last of the places, relative to the delta that is asked for: losses beyond them count in full.
_BEYOND = 1e-5

#: An epsilon that is searched for is above the least that will do by less than this part of it.
_PRECISION = 1e-4


def least_epsilon(
    curve: Callable[[float], float], *, delta: float, most: float, precision: float = _PRECISION
) -> float:
    """Return an epsilon at which a falling curve is at most delta, and not much more than the least of them.

    curve: delta as a function of epsilon, in nats.
    most: an epsilon that will do; nothing above it is returned.
    precision: the part of it by which the result may be above the least.
    """
    low, high = 0.0, most
    below, above = _excess(curve(low), delta), -math.inf
    if below <= 0.0:
        return 0.0
    while high - low > precision * high:
        # The logarithm of delta is nearly a parabola: a straight line between both ends falls short of its root.
        middle = 0.5 * (low + high)
        if above > -math.inf and high - low < 0.5 * high:
            middle = min(max(low + (high - low) * below / (below - above), low + 0.05 * (high - low)), high)
            middle = min(middle, high - 0.05 * (high - low))
        excess = _excess(curve(middle), delta)
        if excess <= 0.0:
            high, above = middle, excess
        else:
            low, below = middle, excess
    return high


@dataclass(frozen=True, kw_only=True, eq=False)
class Losses:
    """The privacy loss of a pair of distributions, which is a whole multiple of a step or infinite.

    step: in nats.
    chances: with the first input, of the losses from -`_PLACES` steps on, float64.
    beyond: of an infinite loss.
    most: an epsilon at which delta is 0, in nats.
    """

    step: float
    chances: NDArray[np.float64]
    beyond: float
    most: float

    @classmethod
    def of(cls, curve: Callable[[float], float], *, delta: float, most: float) -> Self:
        """Return the losses of a pair that is distinguished at least as well as by a curve of delta.

        The curve is taken at whole multiples of a step, with straight lines between them, as functions of e^epsilon,
        in which every such curve is convex ("connect the dots"; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi,
        2022).

        curve: delta as a function of epsilon, in nats, for both orders of two inputs.
        delta: the least that losses are composed for.
        most: an epsilon at which the curve is 0.
        """
        top = least_epsilon(curve, delta=_BEYOND * delta, most=most, precision=0.1)
        step = top / _PLACES
        deltas = np.array([curve(place * step) for place in range(_PLACES)] + [curve(top)])
        return cls(step=step, chances=_chances(deltas, step=step), beyond=float(deltas[-1]), most=most)

    def composed(self, times: int, *, delta: float) -> float:
        """Return epsilon of so many of them, one after another; it is never below the exact one."""
        total, power, left = np.ones(1), self.chances, times
        while left:
            total = np.convolve(total, power) if left % 2 else total
            left //= 2
            power = np.convolve(power, power) if left else power
        losses = np.arange(-_PLACES * times, _PLACES * times + 1) * self.step
        rest = -math.expm1(times * math.log1p(-self.beyond))

        def composed(epsilon: float) -> float:
            more = losses > epsilon
            return float(-np.expm1(epsilon - losses[more]) @ total[more]) + rest

        return least_epsilon(composed, delta=delta, most=times * self.most)


def _chances(deltas: NDArray[np.float64], *, step: float) -> NDArray[np.float64]:
    """Return the chances of the losses on either side of 0.

    deltas: at 0 and every step above it.
    """
    odds = np.exp(np.arange(-_PLACES, _PLACES + 1) * step)
    # In the other order of both inputs, delta is the same: that is what it is below 0.
    below = 1.0 - odds[:_PLACES] + odds[:_PLACES] * deltas[:0:-1]
    slopes = np.diff(np.concatenate([below, deltas]), prepend=1.0) / np.diff(odds, prepend=0.0)
    # The second differences are below 0 by rounding alone, and what is raised there only adds.
    chances: NDArray[np.float64] = odds * np.maximum(np.diff(slopes, append=0.0), 0.0)
    return chances


def _excess(found: float, delta: float) -> float:
    return math.log(found / delta) if found > 0.0 else -math.inf
