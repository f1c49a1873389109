"""The privacy blanket of a report: the part that its user does not decide, and how well it hides another report.

With a probability that all inputs share, a report is drawn from a distribution that depends on no input, the blanket
(Balle, Bell, Gascon and Nissim, 2019, "The privacy blanket of the shuffle model"). In random order, the reports of
the blanket hide each other's users, whatever the other reports hold.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError

#: Most outcomes that are distinguished: six attributes have so many. A blanket of more attributes is thin, and hides
#: little.
MAX_OUTCOMES = 4_096

#: Step of the grid on which a sum is computed, in standard deviations of one summand of the blanket: a summand is
#: spread to both neighbours of its place, which makes the bound larger by a few thousandths at most.
_STEP = 0.1

#: Least number of steps: the sum of few reports has a grid that is finer than it need be.
_LEAST_STEPS = 2**12

#: Most of them, where a coarser grid makes the bound larger: values far below others are of hardly any delta.
_MOST_STEPS = 2**20

#: -ln of the chance of sums beyond the grid, which is added.
_BEYOND = 45.0

#: -ln of powers of the transform that are left out, and added as a bound.
_LOST = 60.0

#: The mean, relative to that of the absolute values, that is nearly 0, and the most steps towards it.
_CENTRED = 1e-9
_TRIES = 100

#: Relative errors of all that is computed before and after the transforms stay far below this, by which all is
#: raised.
_RAISED = 1e-6


@dataclass(frozen=True, kw_only=True)
class Blanket:
    """The blanket of a report, seen from two inputs that it should hide from each other.

    share: gamma, the chance that a report is made of the blanket, whatever the input.
    outcomes: all reports of the blanket, as (probability, one, other): such a report is `one` times as likely with
        the first input as in the blanket, and `other` times with the second. To exchange both inputs changes nothing.
    """

    share: float
    outcomes: tuple[tuple[float, float, float], ...]

    @classmethod
    def of_support(cls, *, own: float, any_value: float, both: float) -> Self:
        """Return the blanket of reports that support some of the values, and are equally likely where they do.

        own: P(a report supports the value it was made of).
        any_value: P(a report of the blanket supports a value), the same for each.
        both: P(it supports both of two values), or a lower bound: the less often, the better they are distinguished,
            since the likelihoods of both are then less alike. So it is at most the square of `any_value`.
        """
        inside, outside = own / any_value, (1.0 - own) / (1.0 - any_value)
        alone = any_value - both
        outcomes = (
            (both, inside, inside),
            (alone, inside, outside),
            (alone, outside, inside),
            (1.0 - both - 2.0 * alone, outside, outside),
        )
        return cls(share=outside, outcomes=tuple(each for each in outcomes if each[0] > 0.0))

    @classmethod
    def of_one_of(cls, parts: Iterable[tuple[float, Blanket]]) -> Self:
        """Return the blanket of reports that say in the clear which of several sorts they are, drawn for every input.

        parts: the chance of each sort, and its blanket.
        """
        gathered: dict[Blanket, float] = {}
        for chance, part in parts:
            gathered[part] = gathered.get(part, 0.0) + chance
        share = math.fsum(chance * part.share for part, chance in gathered.items())
        return cls(
            share=share,
            outcomes=tuple(
                (chance * part.share / share * of, share / part.share * one, share / part.share * other)
                for part, chance in gathered.items()
                for of, one, other in part.outcomes
            ),
        )

    @classmethod
    @lru_cache(maxsize=64)
    def of_all(cls, parts: tuple[Blanket, ...]) -> Self | None:
        """Return the blanket of reports that have a part for each of these, independent of each other.

        None where there are more than `MAX_OUTCOMES` outcomes.
        """
        found: dict[tuple[float, float], float] = {(1.0, 1.0): 1.0}
        for part in parts:
            more: dict[tuple[float, float], float] = {}
            for ((one, other), chance), (of, left, right) in itertools.product(found.items(), part.outcomes):
                # Equal parts have equal outcomes, in any order of their factors but for the last bits.
                key = (float(f"{one * left:.15g}"), float(f"{other * right:.15g}"))
                more[key] = more.get(key, 0.0) + chance * of
            if len(more) > MAX_OUTCOMES:
                return None
            found = more
        return cls(
            share=math.prod(part.share for part in parts),
            outcomes=tuple((chance, one, other) for (one, other), chance in found.items()),
        )

    def delta(self, epsilon: float, *, reports: int) -> float:
        """Return delta for which shuffled reports are (epsilon, delta)-private; never below what is computed exactly.

        Let L = one - e^epsilon other of an outcome, and Z = L with the chance `share`, else 0. Then delta is the mean
        of the positive part of the sum of n independent Z, divided by n `share` (Balle et al., 2019, lemma 5.3). It
        holds for any two inputs, and whatever the n - 1 other users hold, even if their reports are known.

        The distribution of the sum is computed on a grid: each Z is split between its two neighbours so that its mean
        stays. So the mean of a convex function can only grow. It is weighted by an exponential, so that the sums that
        matter are not far out. Then it is transformed (Koskela, Jalko, Prediger and Honkela, 2021, "Tight
        differential privacy for discrete-valued mechanisms and for the subsampled Gaussian mechanism using FFT").
        What lies beyond the grid and the errors of the transforms are bounded and added.

        epsilon: in nats, at least 0.
        reports: n.

        Raises:
            ParameterError: epsilon is negative, or there is no report.
        """
        if not (epsilon >= 0.0 and reports >= 1):
            raise ParameterError(f"no bound for epsilon={epsilon} and {reports} reports")
        chance, one, other = np.array(self.outcomes).T
        values = np.append(one - math.exp(epsilon) * other, 0.0)
        chances = np.append(self.share * chance, 1.0 - self.share)
        if values.max() <= 0.0:
            return 0.0
        tilt = _centring(values, chances)
        # A report beyond this leaves hardly any positive sum, and to take it for a better one only adds to them.
        least = reports * float(values.max())
        if tilt > 0.0:
            least = min(least, (_BEYOND + math.log(reports)) / tilt)
        values = np.maximum(values, -least)
        tilted, _ = _tilted(values, chances, _centring(values, chances))
        reach = sum(_reaches(values, tilted, reports=reports))
        step = min(_STEP * math.sqrt(float(values**2 @ tilted) / self.share), reach / _LEAST_STEPS)
        while True:
            places, on_grid = _spread(values / step, chances)
            tilt = _centring(places, on_grid)
            tilted, log_mass = _tilted(places, on_grid, tilt)
            if sum(_reaches(places, tilted, reports=reports)) <= _MOST_STEPS:
                break
            step *= 2.0
        part = _positive_part(places, tilted, tilt=tilt, reports=reports)
        if part <= 0.0:
            return 0.0
        # By logarithms, since factors may be too large or too small for a float64.
        found = reports * log_mass + math.log(part * step / (reports * self.share))
        return min(1.0, math.exp(min(found, 0.0)) * (1.0 + _RAISED))


def _tilted(
    values: NDArray[np.float64], chances: NDArray[np.float64], tilt: float
) -> tuple[NDArray[np.float64], float]:
    """Return the chances weighted by e^(tilt value) and scaled to sum to 1, and the logarithm of what scaled them."""
    exponents = tilt * values
    most = float(exponents.max())
    weights = chances * np.exp(exponents - most)
    total = float(weights.sum())
    return weights / total, most + math.log(total)


def _centring(values: NDArray[np.float64], chances: NDArray[np.float64]) -> float:
    """Return the tilt, at least 0, with which the mean is 0 or above, and nearly that.

    The derivative of the mean is the variance: Newton's steps, or halves where they lead out of what is left.
    """
    if float(values @ chances) >= 0.0:
        return 0.0
    low, high, tilt = 0.0, math.inf, 1.0 / float(np.abs(values).max())
    for _ in range(_TRIES):
        weights, _ = _tilted(values, chances, tilt)
        mean = float(values @ weights)
        if mean < 0.0:
            low = tilt
        else:
            high = tilt
            if mean <= _CENTRED * float(np.abs(values) @ weights):
                break
        # Beyond the root by what it may fall short of it by rounding.
        newton = tilt * (1.0 + _CENTRED / 4.0) - mean / (float(np.square(values - mean) @ weights) or math.inf)
        halved = 2.0 * tilt if high == math.inf else 0.5 * (low + high)
        tilt = newton if low < newton < high else halved
    return tilt if high == math.inf else high


def _reaches(values: NDArray[np.float64], tilted: NDArray[np.float64], *, reports: int) -> tuple[float, float]:
    """Return how far from 0 a sum is, except with probability e^-_BEYOND on either side (Chernoff's bound)."""
    found = []
    for signed in (-values, values):
        most = float(signed.max())
        if most <= 0.0:
            found.append(0.0)
            continue
        rates = np.geomspace(1e-3 / (reports * most), 60.0 / most, 64)
        moments = np.log(np.exp(np.multiply.outer(rates, signed - most)) @ tilted) + rates * most
        found.append(min(float(((reports * moments + _BEYOND) / rates).min()), reports * most))
    return found[0], found[1]


def _spread(
    places: NDArray[np.float64], chances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Divide chances among the whole numbers beside each place, so that means stay: places, and their chances."""
    below = np.floor(places)
    above = places - below
    spread = np.concatenate([below, below + 1.0])
    parts = np.concatenate([chances * (1.0 - above), chances * above])
    kept = parts > 0.0
    distinct, numbers = np.unique(spread[kept], return_inverse=True)
    return distinct, np.bincount(numbers, weights=parts[kept]).astype(np.float64)


def _positive_part(places: NDArray[np.float64], tilted: NDArray[np.float64], *, tilt: float, reports: int) -> float:
    """Return the mean of K e^(-tilt K) over positive sums K of whole numbers; never below it.

    places, tilted: of one summand, and their chances, with a mean of about 0.
    """
    below, above = _reaches(places, tilted, reports=reports)
    points = 2 ** math.ceil(math.log2(below + above + 4.0))
    most = math.ceil(above)
    summand = np.bincount(places.astype(np.int64) % points, weights=tilted, minlength=points)
    transform = np.fft.rfft(summand)
    # By Parseval's theorem no inverse is needed, and of a power of n few frequencies are left.
    left = np.flatnonzero(np.square(transform.real) + np.square(transform.imag) > math.exp(-2.0 * _LOST / reports))
    powers = np.abs(transform[left]) ** reports * np.exp(1j * reports * np.angle(transform[left]))
    positive: NDArray[np.float64] = np.arange(1.0, most + 1.0)
    at_zero = float(positive @ np.exp(-tilt * positive))
    functional = np.append(at_zero, _geometric(tilt - 2j * math.pi / points * left[left > 0], most))
    both = np.where((left == 0) | (left == points // 2), 1.0, 2.0)
    found = float((both * (powers * functional).real).sum()) / points
    # A power of n multiplies the relative error of what is raised by n, and a transform of N points has log2 N steps.
    relative = np.finfo(np.float64).eps * (4.0 * reports + 8.0 * math.log2(points))
    wrong = relative * float((both * np.abs(powers) * np.abs(functional)).sum()) / points + at_zero * math.exp(-_LOST)
    # Sums that wrap round the grid only add to others. Those beyond it on this side are left out, and so are added.
    largest = float(np.abs(places).max()) * reports
    furthest = most * math.exp(-tilt * most) if tilt * most >= 1.0 else largest
    beyond = furthest * math.exp(-_BEYOND) if largest > most else 0.0
    total: float = found + wrong + beyond
    return total


def _geometric(rate: NDArray[np.complex128], most: int) -> NDArray[np.complex128]:
    """Return the sum of k e^(-rate k) over k from 1 to `most`, for rates that are not near 0."""
    last = np.exp(-rate * most)
    step = np.exp(-rate)
    found: NDArray[np.complex128] = (step * (1.0 - (most + 1.0) * last + most * last * step)) / np.expm1(-rate) ** 2
    return found
