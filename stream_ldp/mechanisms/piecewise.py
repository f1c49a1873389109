"""Piecewise response: a number on a grid is sent as an outcome near its own, or as any other."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.odds import kept_inside, loss_of
from stream_ldp.mechanisms.packing import count, pack, unpack, unused_clear
from stream_ldp.mechanisms.randomizer import OutputDistribution, Randomizer, checked_values, no_outputs
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy

#: Steps of the grid of the best mixture. At epsilon 6 the worst-case variance is 0.0346 / n with 64 steps and
#: 0.0344 / n with 256; below, the difference is smaller.
STEPS = 64

#: Steps of the grid of a square wave: with its width, at most as large, an outcome takes a byte at any epsilon.
WAVE_STEPS = 128

#: Most steps of a grid, and most outcomes of a plateau.
MAX_STEPS = 2**12

_FLAT = 1e-3  # nats below which a square wave is as wide as the range to within a step
_SHARES = 64  # the share of the piecewise response is a multiple of 1 / 64


@dataclass(frozen=True, kw_only=True)
class PiecewiseResponse(Randomizer):
    """A randomizer of a number in [-1, 1] that sends one of m + w outcomes, most likely one of w near its own.

    The number is first rounded at random to one of the m + 1 points of an even grid. From point i, one of the
    outcomes i to i + w - 1, the plateau, is sent with probability p = w e^epsilon / (w e^epsilon + m). Otherwise it
    is one of the m other outcomes. Both are uniform. The mean outcome is linear in i, so that a linear function of
    the outcome estimates the number without bias. It is the piecewise mechanism (Wang et al., 2019, Algorithm 2), or
    the square wave (Li et al., 2020), on a finite grid: its probabilities are exact. With one step and a plateau of
    one outcome it is the coin of Duchi, Jordan and Wainwright (2018), which Harmony uses (Nguyen et al., 2016,
    Algorithm 2).

    steps: m, number of steps of the grid.
    width: w.
    epsilon: in nats. The argument is an upper bound; the field is the realised loss, lower by the rounding of p.
    kept: p in units of 2^-32.

    Raises:
        ParameterError: steps or width is out of its range, or no multiple of 2^-32 is a p for the epsilon.
    """

    kind: ClassVar[str] = "piecewise"
    example: ClassVar[str] = "steps=6,width=3,epsilon=1"
    input_name: ClassVar[str] = "number"

    steps: int
    width: int
    epsilon: float
    kept: int = field(init=False)

    def __post_init__(self) -> None:
        for name, given in (("steps", self.steps), ("width", self.width)):
            if not 1 <= given <= MAX_STEPS:
                raise ParameterError(f"{name} is a whole number from 1 to {MAX_STEPS}, got {given}")
        object.__setattr__(self, "kept", kept_inside(self.epsilon, inside=self.width, outside=self.steps))
        object.__setattr__(self, "epsilon", loss_of(self.kept, inside=self.width, outside=self.steps))

    @property
    def title(self) -> str:
        """Name of the randomizer in plans."""
        return "coin" if self.counters == 2 else f"piecewise, {self.width} of {self.counters}"

    @property
    def inputs(self) -> int:
        """Number of points of the grid."""
        return self.steps + 1

    @property
    def parameters(self) -> list[int]:
        """m, w and p."""
        return [self.steps, self.width, self.kept]

    @property
    def bits(self) -> int:
        """Bits of a report."""
        return (self.counters - 1).bit_length()

    @property
    def counters(self) -> int:
        """Number of outcomes: reports are counted by theirs."""
        return self.steps + self.width

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """See `Randomizer.perturb`; values are points of the grid, 0 to m."""
        points = checked_values(values, choices=self.inputs)
        inside = entropy.below(np.broadcast_to(np.uint32(self.kept), points.shape))
        drawn = entropy.integers(np.where(inside, self.width, self.steps))
        # Both are worked out for every user, so that the time does not reveal which is sent.
        sent = np.where(inside, points + drawn, drawn + self.width * (drawn >= points))
        return pack([sent], [self.bits])

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        (sent,) = unpack(rows, [self.bits])
        return unused_clear(rows, self.bits) & (sent < self.counters)

    def add(self, rows: NDArray[np.uint8], *, to: NDArray[np.int64]) -> None:
        """Count the reports with each outcome, shape (counters,)."""
        (sent,) = unpack(rows, [self.bits])
        count(sent, to=to)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The unbiased estimate of a user's number from each outcome, shape (counters,)."""
        p, m, w = self.kept / RESOLUTION, self.steps, self.width
        of_plateau = w * (w - 1) / 2
        slope = p - (1 - p) * w / m
        intercept = p * of_plateau / w + (1 - p) * ((m + w) * (m + w - 1) / 2 - of_plateau) / m
        numbers: NDArray[np.float64] = (np.arange(m + w) - intercept) / slope * 2 / m - 1
        return numbers

    @cached_property
    def channel(self) -> NDArray[np.float64]:
        """P(outcome | point of the grid), shape (steps + 1, counters)."""
        p = self.kept / RESOLUTION
        beyond = np.arange(self.counters) - np.arange(self.inputs)[:, None]
        return np.where((beyond >= 0) & (beyond < self.width), p / self.width, (1 - p) / self.steps)

    def variance(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the estimate from one report of each of these numbers in [-1, 1], same shape."""
        second = self.channel @ self.numbers**2
        points = np.linspace(-1, 1, self.inputs)
        variance: NDArray[np.float64] = np.interp(numbers, points, second) - numbers**2
        return variance

    def stated(self) -> OutputDistribution:
        outputs = no_outputs(self.inputs, self.bits)
        p = Fraction(self.kept, RESOLUTION)
        for point in range(self.inputs):
            outputs[point, : self.counters] = (1 - p) / self.steps
            outputs[point, point : point + self.width] = p / self.width
        return outputs

    def small(self) -> Self:
        """See `Randomizer.small`: about half as many steps and outcomes of the plateau."""
        return replace(self, steps=-(-self.steps // 2), width=-(-self.width // 2))


def coin(epsilon: float) -> PiecewiseResponse:
    """Return the response that sends one of two outcomes, whose variance c^2 - t^2 is largest for the number t = 0.

    c = (e^epsilon + 1) / (e^epsilon - 1).
    """
    return PiecewiseResponse(steps=1, width=1, epsilon=epsilon)


def square_wave(epsilon: float) -> PiecewiseResponse:
    """Return the response that says most of a distribution, whose plateau is that of the square wave.

    The width 2 b, as a share of the range, is (eps e^eps - e^eps + 1) / (e^eps (e^eps - 1 - eps)). It has the most
    mutual information (Li et al., 2020, section 5.3); it tends to 1 for a small epsilon.

    Raises:
        ParameterError: the epsilon is beyond the resolution of probabilities.
    """
    # Both parts divided by e^epsilon. Below, they are differences of nearly equal numbers, and the width is 1.
    inverse = math.exp(-epsilon)
    share = 1.0 if epsilon < _FLAT else (epsilon - 1 + inverse) / (math.expm1(epsilon) - epsilon)
    return PiecewiseResponse(steps=WAVE_STEPS, width=max(1, round(share * WAVE_STEPS)), epsilon=epsilon)


def rounded(numbers: NDArray[np.float64], *, steps: int, entropy: Entropy) -> NDArray[np.int64]:
    """Round numbers at random to the points of a grid, so that their means stay; int64, of the same shape.

    numbers: in [-1, 1]; the chances are rounded to 2^-32.
    """
    position = (numbers + 1) / 2 * steps
    below = np.minimum(np.floor(position), steps - 1).astype(np.int64)
    return below + entropy.below(np.rint((position - below) * RESOLUTION).astype(np.int64))


@lru_cache
def least_worst_case(epsilon: float) -> tuple[PiecewiseResponse, float]:
    """Return the piecewise response and the share of users for it, the others tossing a coin, of least worst case.

    The worst case is the largest variance over all numbers. A mixture of both is what hybrid mechanisms are (Wang et
    al., 2019, section III-C); here the width and the share are found by search, and not by formula.

    Raises:
        ParameterError: the epsilon is beyond the resolution of probabilities.
    """
    # Between two points the variance is largest where rounding adds most, near the middle.
    numbers = np.linspace(-1, 1, 2 * STEPS + 1)
    of_coin = coin(epsilon).variance(numbers)
    shares = np.linspace(0, 1, _SHARES + 1)[:, None]
    best, found = float("inf"), (PiecewiseResponse(steps=STEPS, width=STEPS, epsilon=epsilon), 0.0)
    for width in range(1, 4 * STEPS):
        response = PiecewiseResponse(steps=STEPS, width=width, epsilon=epsilon)
        worst = (shares * response.variance(numbers) + (1 - shares) * of_coin).max(axis=1)
        place = int(worst.argmin())
        # By a little, so that rounding does not decide.
        if worst[place] < best * (1 - 1e-9):
            best, found = float(worst[place]), (response, float(shares[place, 0]))
    return found
