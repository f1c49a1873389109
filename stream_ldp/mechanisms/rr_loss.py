"""The privacy loss of RR-LDP in closed form, and the parameters for a wanted loss.

Two records that differ in m attributes differ in 2m bits, one up and one down in each. The loss of t reports of
one memoised permanent response is attained by the outputs that send the rising bit t times and the falling bit
never. `stream_ldp.Enumeration` finds the same numbers by enumerating all outputs.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from functools import lru_cache

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.odds import loss_of, would_do
from stream_ldp.mechanisms.privacy_loss import PRECISION, likelihood_ratio, round_up
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION


@lru_cache(maxsize=256)
def rr_epsilon(*, flip: float, response: tuple[float, float], neighbours: int, reports: float) -> float:
    """Return epsilon, in nats, of `reports` reports of one constant record; never rounded down.

    flip: f / 2, the chance that the permanent response inverts a bit.
    response: (p, q), the chance to send 1 for a permanent 0 and for a permanent 1; (0, 1) without an IRR.
    neighbours: m, number of attributes in which two records may differ.
    reports: t, or math.inf for all.

    For t = 1 this is m ln[q*(1-p*) / (p*(1-q*))], m times eq. 11 of Chu, Long and Liu (2022), which forgets the m;
    over a lifetime it is 2 m ln((2-f)/f), their eq. 10. In between it is m (ln U_t + ln D_t), with U_t the likelihood
    ratio of t ones for a rising bit and D_t that of t zeros for a falling one. It holds while the record does not
    change.

    Raises:
        ValueError: reports is neither a positive whole number nor infinite.
    """
    if not (reports == math.inf or (reports >= 1 and reports == int(reports))):
        raise ValueError(f"reports must be a positive whole number or math.inf, got {reports}")
    with localcontext(PRECISION):
        inverted = Decimal(flip)
        kept = 1 - inverted
        if math.isinf(reports):
            return round_up(2 * neighbours * (kept / inverted).ln())
        p, q = (Decimal(value) for value in response)
        # Likelihood ratios of a run of equal bits from the other permanent bit; they go to 0 with the length.
        ones = (p / q) ** int(reports)
        zeros = ((1 - q) / (1 - p)) ** int(reports)
        rising = (kept + inverted * ones) / (inverted + kept * ones)
        falling = (kept + inverted * zeros) / (inverted + kept * zeros)
        return round_up(neighbours * (rising.ln() + falling.ln()))


def rr_parameters(
    *, lifetime: float, per_report: float | None, neighbours: int
) -> tuple[float, float | None, float | None]:
    """Return (f, p, q) with at most the wanted epsilon, and less only by what the resolution of 2^-32 takes.

    lifetime, per_report: epsilon of all reports and of one, in nats; without `per_report`, or where it leaves
        nothing to an IRR, p and q are None.
    neighbours: m, number of attributes in which two records may differ.

    f follows from `lifetime`. One `per_report` leaves a family of (p, q); of it, this is the one with the smallest
    standard error of the count of a rare value, p*(1-p*) / (q*-p*)^2: the optimised unary encoding of Wang, Blocki,
    Li and Jha (2017), q* = 1/2, or where the permanent response forbids it, the nearest that it allows, p = 0.

    >>> f, p, q = rr_parameters(lifetime=8.0, per_report=2.0, neighbours=2)
    >>> round(f, 3), p is not None and q is not None
    (0.238, True)

    Raises:
        ParameterError: an epsilon is not positive and finite, one report is to cost more than all, or the resolution
            is too coarse.
    """
    for name, epsilon in (("lifetime", lifetime), ("per_report", per_report)):
        if epsilon is not None and not 0 < epsilon < math.inf:
            raise ParameterError(f"{name} must be a positive, finite epsilon, got {epsilon}")
    if per_report is not None and per_report > lifetime:
        raise ParameterError(f"one report is one of all: per_report={per_report} must not exceed lifetime={lifetime}")
    with localcontext(PRECISION):
        # All roundings go towards more noise, in each of f, p and q: a target is never exceeded.
        inverted = _multiple(1 / (1 + likelihood_ratio(Decimal(lifetime) / (2 * neighbours))), ROUND_CEILING)
        if 2 * inverted >= 1:
            least = 2 * neighbours * loss_of(RESOLUTION // 2 + 1, outside=1)
            raise ParameterError(
                f"lifetime={lifetime} leaves no information at a resolution of 2^-32: {would_do(least, math.inf)}"
            )
        f = float(2 * inverted)
        kept = 1 - inverted
        limit = kept / inverted
        odds = None if per_report is None else likelihood_ratio(Decimal(per_report) / neighbours)
        if odds is None or odds >= limit**2:
            return f, None, None
        if (odds + 1) / 2 <= limit:
            one, zero = Decimal("0.5"), 1 / (odds + 1)
            spread = (one - zero) / (kept - inverted)
            exact_p = zero - inverted * spread
            exact_q = exact_p + spread
        else:
            exact_p = Decimal(0)
            exact_q = (odds - limit) / (odds - 1) / kept
        p, q = _multiple(exact_p, ROUND_CEILING), _multiple(exact_q, ROUND_FLOOR)
        if p >= q:
            # Two steps of 2^-32 between the exact p and q leave one, however they are rounded.
            apart = 4 * (kept - inverted) / RESOLUTION
            least = min(lifetime, round_up(neighbours * ((1 + apart) / (1 - apart)).ln()))
            raise ParameterError(
                f"per_report={per_report} leaves no information at a resolution of 2^-32: {would_do(least, lifetime)}"
            )
        return f, float(p), float(q)


def _multiple(probability: Decimal, rounding: str) -> Decimal:
    return (probability * RESOLUTION).to_integral_value(rounding) / RESOLUTION
