"""Privacy loss of RR-LDP in closed form.

Two records that differ in m attributes differ in 2m bits, one up and one down in each. The loss of t reports of
one memoised permanent response is attained by the outputs that send the rising bit t times and the falling bit
never. Derivation and comparison with exact enumeration: tests/test_privacy.py.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext

__all__ = ["rr_epsilon"]

# 50 digits leave more than thirty guard digits behind a float64, so that the one rounding that shows is the last.
_CONTEXT = Context(prec=50)


def rr_epsilon(*, flip: float, response: tuple[float, float], neighbours: int, reports: float) -> float:
    """Epsilon, in nats, of `reports` reports of one constant record; never rounded down.

    flip: f / 2, the chance that the permanent response inverts a bit.
    response: (p, q), the chance to send 1 for a permanent 0 and for a permanent 1; (0, 1) without an IRR.
    neighbours: m, number of attributes in which two records may differ.
    reports: t, or math.inf for ever.

    For t = 1 this is m ln[q*(1-p*) / (p*(1-q*))], m times eq. 11 of Chu, Long and Liu (2022), which forgets the m;
    for ever it is 2 m ln((2-f)/f), their eq. 10. In between it is m (ln U_t + ln D_t), U_t the likelihood ratio of
    t ones for a rising bit and D_t that of t zeros for a falling one. It holds while the record does not change.

    Raises:
        ValueError: reports is neither a positive whole number nor infinite.
    """
    if not (math.isinf(reports) and reports > 0) and (reports < 1 or reports != int(reports)):
        raise ValueError(f"reports must be a positive whole number or math.inf, got {reports}")
    with localcontext(_CONTEXT):
        if math.isinf(reports):
            return _up(2 * neighbours * (_kept(flip) / Decimal(flip)).ln())
        p, q = (Decimal(value) for value in response)
        t = int(reports)
        rising = _mixture_ratio(flip, q**t, p**t)
        falling = _mixture_ratio(flip, (1 - p) ** t, (1 - q) ** t)
        return _up(neighbours * (rising.ln() + falling.ln()))


def _mixture_ratio(flip: float, likely: Decimal, unlikely: Decimal) -> Decimal:
    """Probability of a run of equal bits where the permanent bit was kept, over where it was inverted."""
    kept, flipped = _kept(flip), Decimal(flip)
    return (kept * likely + flipped * unlikely) / (flipped * likely + kept * unlikely)


def _kept(flip: float) -> Decimal:
    return 1 - Decimal(flip)


def _up(value: Decimal) -> float:
    """The smallest float64 that is not below `value`."""
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else math.nextafter(nearest, math.inf)
