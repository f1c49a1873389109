"""Numbers with the digits that their errors allow, and probabilities of tests as bounds."""

from __future__ import annotations

import math

#: Decimals of a number of which no error is known.
DECIMALS = 4
#: The most decimals of any number in text.
_MOST = 9

#: A smaller probability of a test depends on tails that no approximation gets right.
_MIN_P = 1e-6


def decimals(error: float | None) -> int:
    """Return the number of decimals that a number with this standard error is written with.

    It is that of two significant digits of the error: the digits after them say nothing.
    """
    if error is None or not error > 0.0 or math.isinf(error):
        return DECIMALS
    return min(max(1 - math.floor(math.log10(error)), 0), _MOST)


def shown(number: float | None, error: float | None) -> str:
    """Write a number with the digits that its standard error allows; nothing for one that is not known."""
    return "" if number is None else f"{number:.{decimals(error)}f}"


def shown_p(p: float, *, least: float = _MIN_P) -> str:
    """Write the probability of a test, after `p`, and as a bound where the test can say no less.

    least: the smallest probability that the test distinguishes from smaller ones.
    """
    return f"p < {least:g}" if p < least else f"p at most {least:g}" if p == least else f"p = {p:.2g}"
