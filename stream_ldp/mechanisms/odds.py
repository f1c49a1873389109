"""The one probability that most responses have: to stay inside the favoured outcomes, as a multiple of 2^-32."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from functools import lru_cache

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.privacy_loss import PRECISION, likelihood_ratio, round_up
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION

#: Responses whose probability and loss are kept: the same are made again for each answer and each batch, and their
#: logarithms, to so many digits, take as long as to perturb a thousand reports.
_KEPT = 1_024


@lru_cache(_KEPT)
def kept_inside(epsilon: float, *, inside: int = 1, outside: int) -> int:
    """Return the largest chance of a favoured outcome whose loss is at most epsilon, in units of 2^-32.

    With this chance one of `inside` favoured outcomes is sent, uniformly, otherwise one of `outside` others. The
    favoured outcomes depend on the input, so the loss is that of one outcome, favoured or not.

    epsilon: in nats.

    Raises:
        ParameterError: epsilon is not positive and finite, or no multiple of 2^-32 is such a chance.
    """
    if not 0 < epsilon < math.inf:
        raise ParameterError(f"epsilon must be positive and finite, got {epsilon}")
    # The chance lies between that of outcomes which are all alike, and certainty, both excluded.
    least, most = RESOLUTION * inside // (inside + outside) + 1, RESOLUTION - 1
    with localcontext(PRECISION):
        odds = inside * likelihood_ratio(epsilon)
        kept = int(RESOLUTION * odds / (odds + outside))
    if kept < least or epsilon > loss_of(most, inside=inside, outside=outside):
        lowest, highest = (loss_of(each, inside=inside, outside=outside) for each in (least, most))
        raise ParameterError(
            f"epsilon={epsilon} is beyond the resolution of 2^-32 with {inside + outside} choices: "
            f"{would_do(lowest, highest)}"
        )
    return kept


def would_do(lowest: float, highest: float) -> str:
    """Return the end of a message on an epsilon that is out of its range: numbers that are in it.

    Three digits of each are enough, rounded inwards, so that the numbers themselves are accepted.
    """
    low, high = (
        Context(prec=3, rounding=rounding).create_decimal(bound)
        for bound, rounding in ((lowest, ROUND_CEILING), (highest, ROUND_FLOOR))
    )
    return f"{low:g} to {high:g} would do" if math.isfinite(highest) else f"{low:g} or more would do"


@lru_cache(_KEPT)
def loss_of(kept: int, *, inside: int = 1, outside: int) -> float:
    """Return the loss of an outcome, favoured with this chance in units of 2^-32, in nats; never rounded down."""
    with localcontext(PRECISION):
        return round_up((Decimal(kept) * outside / ((RESOLUTION - kept) * inside)).ln())
