"""What a mechanism answers when it is asked for its privacy: a number, and what the number is a promise of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum

from stream_ldp.errors import StreamLDPError

__all__ = ["PRECISION", "NotCovered", "PrivacyLoss", "Values", "round_up", "shown_epsilon"]

#: In which losses are computed. 50 digits leave more than thirty guard digits behind a float64, so that the one
#: rounding that shows is the last; the exponents are wide enough for powers of a probability.
PRECISION = Context(prec=50, Emin=-(10**12), Emax=10**12)


class Values(StrEnum):
    """What is assumed of the values of one user over all of his reports."""

    CONSTANT = "constant"
    CHANGING = "changing"


class NotCovered(StreamLDPError, ValueError):
    """A question about privacy to which no formula of the mechanism is an answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivacyLoss:
    """Epsilon and what it is a promise of.

    epsilon: in nats, never rounded down.
    neighbours: number of attributes in which two records may differ that the reports do not tell apart.
    attributes: number of attributes of a record.
    reports: of one user; math.inf for ever.
    values: what is assumed of the user's values over these reports.
    """

    epsilon: float
    neighbours: int
    attributes: int
    reports: float
    values: Values

    @property
    def relation(self) -> str:
        """The neighbour relation: which records are not told apart."""
        if self.neighbours == self.attributes:
            return "any two records"
        plural = "" if self.neighbours == 1 else "s"
        return f"any two records that differ in at most {self.neighbours} attribute{plural}"

    @property
    def assumption(self) -> str:
        """The neighbour relation, and what is assumed of the user; nothing where there is one report."""
        if self.reports == 1 or self.values is Values.CHANGING:
            return self.relation
        return f"{self.relation}; a user's record does not change"


def round_up(value: Decimal) -> float:
    """The smallest float64 that is not below `value`."""
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else math.nextafter(nearest, math.inf)


def shown_epsilon(epsilon: float, *, decimals: int = 3) -> str:
    """An epsilon as its user sees it: in nats, rounded up to so many decimals, or `inf`.

    A promise of privacy is never rounded down: read as a float64, what is shown is never below `epsilon`. Of a number
    such as 1.1, which no float64 is, that is `1.100`: the nearest float64, which is above it, is written as it is.
    """
    if math.isinf(epsilon):
        return "inf"
    step = Decimal(1).scaleb(-decimals)
    return f"{Decimal(str(epsilon)).quantize(step, rounding=ROUND_CEILING, context=PRECISION):f}"
