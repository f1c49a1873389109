"""Numbers with the digits that their errors allow, or that distinguish them, and probabilities of tests as bounds."""

import math
from collections import Counter
from collections.abc import Sequence

#: Decimals of a number without an error.
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


def apart(numbers: Sequence[float]) -> list[str]:
    """Write different numbers with six digits, and with all of theirs where six are the same for several.

    >>> apart([0.78125, 60.15625, 60.15624]), apart([1_700_000_000, 1_700_000_030])
    (['0.78125', '60.15625', '60.15624'], ['1700000000', '1700000030'])
    """
    short = [f"{number:g}" for number in numbers]
    times = Counter(short)
    return [
        text if times[text] == 1 else repr(float(number)).removesuffix(".0")
        for text, number in zip(short, numbers, strict=True)
    ]


def shown_p(p: float, *, least: float = _MIN_P) -> str:
    """Write the probability of a test, after `p`, and as a bound where the test can say no less.

    least: the smallest probability that the test distinguishes from smaller ones.
    """
    return f"p < {least:g}" if p < least else f"p at most {least:g}" if p == least else f"p = {p:.2g}"
