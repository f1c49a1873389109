"""How many users it takes until an estimate is as near to the truth as is wanted, found by trying."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MOST_USERS", "Distance", "Needed", "users_needed"]

#: Most users that are tried: their reports are in memory all at once.
MOST_USERS = 1_000_000
#: Most steps of the search, and the logarithm of the ratio to the wanted distance at which it ends: from there, the
#: rest follows from how the distance falls with the root of the number.
_STEPS, _NEAR = 8, 0.25
#: What is near is measured again, at most so often, until it is within this logarithm of a ratio.
_ROUNDS, _CLOSE = 3, 0.1
#: Relative standard error of a distance that is measured again. The number of users has twice as much: 5 %.
_PRECISION = 0.025
#: Most repeats for it, as a multiple of those of a step.
_MOST_REPEATS = 20


class Distance(NamedTuple):
    """A distance from the truth as some repeats show it: its mean, and the standard deviation over the repeats."""

    mean: float
    deviation: float


class Needed(NamedTuple):
    """The number of users that a distance takes, and its standard error; both to two digits."""

    users: int
    error: int


def users_needed(
    wanted: float, *, users: int, repeats: int, measure: Callable[[int, int, int], Distance]
) -> Needed | None:
    """Search for the number of users with which the mean distance is as wanted.

    The distance falls about as one over the root of the number, so a few steps come near. What they find depends on
    their luck: the number is then measured with so many repeats that it is known to some 5 %.

    wanted: above 0.
    users: the number to begin with.
    repeats: those of a step, at least 1.
    measure: measures the distance of a number of users, in so many repeats, of this round: repeats of another round
        are drawn anew.

    Returns:
        None if it is above `MOST_USERS`.
    """
    measured: dict[int, Distance] = {}
    number = min(users, MOST_USERS)
    while number not in measured and len(measured) < _STEPS:
        found = measured[number] = measure(number, repeats, 0)
        ratio = found.mean / wanted
        if _is_within(_NEAR, ratio):
            break
        if number == MOST_USERS and ratio > 1.0:
            return None
        number = _by_root(number, ratio)
    else:
        between = _between(measured, wanted)
        if between is None:
            return None
        number, found = between, measured[min(measured, key=lambda each: abs(math.log(each / between)))]
    error = 0.0
    for round_ in range(1, _ROUNDS + 1):
        enough = math.ceil((found.deviation / (_PRECISION * wanted)) ** 2)
        times = min(max(enough, repeats), _MOST_REPEATS * repeats)
        found = measure(number, times, round_)
        ratio = found.mean / wanted
        if number == MOST_USERS and ratio > math.exp(_CLOSE):
            return None
        number = _by_root(number, ratio)
        error = 2.0 * number * found.deviation / (wanted * math.sqrt(times))
        if _is_within(_CLOSE, ratio):
            break
    return Needed(_two_digits(number), _two_digits(error))


def _is_within(logarithm: float, ratio: float) -> bool:
    return math.exp(-logarithm) < ratio < math.exp(logarithm)


def _by_root(number: int, ratio: float) -> int:
    return min(max(1, round(number * ratio**2)), MOST_USERS)


def _between(measured: dict[int, Distance], wanted: float) -> int | None:
    """Return the middle of the two numbers between which the wanted distance is; None if none is as near."""
    enough = [number for number, found in measured.items() if found.mean <= wanted]
    if not enough:
        return None
    too_few = [number for number in measured if number < min(enough)]
    return round(math.sqrt(min(enough) * max(too_few))) if too_few else min(enough)


def _two_digits(number: float) -> int:
    return int(float(f"{number:.1e}"))
