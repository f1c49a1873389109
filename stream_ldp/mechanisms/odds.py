"""The one probability that most responses have: to stay inside the favoured outcomes, as a multiple of 2^-32."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION

__all__ = ["kept_inside", "loss_of"]


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
        odds = inside * Decimal(epsilon).exp()
        kept = int(RESOLUTION * odds / (odds + outside))
    if kept < least or epsilon > loss_of(most, inside=inside, outside=outside):
        lowest, highest = (loss_of(each, inside=inside, outside=outside) for each in (least, most))
        raise ParameterError(
            f"epsilon={epsilon} is beyond the resolution of 2^-32: with {inside + outside} choices it is between "
            f"about {lowest:.3g} and {highest:.3g}"
        )
    return kept


def loss_of(kept: int, *, inside: int = 1, outside: int) -> float:
    """Return the loss of an outcome, favoured with this chance in units of 2^-32, in nats; never rounded down."""
    with localcontext(PRECISION):
        return round_up((Decimal(kept) * outside / ((RESOLUTION - kept) * inside)).ln())
