"""The privacy loss of a mechanism: a number, and the assumptions under which it is a promise."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from fractions import Fraction

from stream_ldp.errors import StreamLDPError

#: The conditions of a loss of several reports that share permanent noise, in words.
UNCHANGED = "a user's record does not change, and all reports show the same permanent noise"
UNCHANGED_SET = "a user's set does not change, and all reports show the same permanent noise"

#: The decimal context in which losses are computed. 50 digits are more than thirty beyond those of a float64, so that
#: only the last rounding shows; the exponents are wide enough for powers of a probability.
PRECISION = Context(prec=50, Emin=-(10**12), Emax=10**12)

#: Nats for which all larger losses are taken: a larger exponential may be no number, and no chance in units of 2^-32
#: has odds near either.
MAX_EPSILON = 1_000

#: Nats from which on a float64 has no decimals to round: it is shown as it is.
_NO_DECIMALS = 1e15


class Values(StrEnum):
    """An assumption about the values of one user over all of their reports."""

    CONSTANT = "constant"
    CHANGING = "changing"


class NotCovered(StreamLDPError, ValueError):
    """No formula of the mechanism covers this privacy loss."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivacyLoss:
    """Epsilon, and the conditions under which it is a promise.

    epsilon: in nats, never rounded down.
    neighbours: number of attributes in which two records may differ that the reports do not distinguish.
    attributes: number of attributes of a record.
    reports: number of reports of one user; math.inf for all.
    values: what is assumed of the user's values over these reports.
    """

    epsilon: float
    neighbours: int
    attributes: int
    reports: float
    values: Values

    @property
    def relation(self) -> str:
        """The neighbour relation: the records that are not distinguished, in words."""
        if self.neighbours == self.attributes:
            return "any two records"
        plural = "" if self.neighbours == 1 else "s"
        return f"any two records that differ in at most {self.neighbours} attribute{plural}"

    @property
    def assumption(self) -> str:
        """The neighbour relation, and what is assumed of a user who reports more than once, in words."""
        if self.reports == 1 or self.values is Values.CHANGING:
            return self.relation
        return f"{self.relation}, if {UNCHANGED}"


def round_up(value: Decimal | Fraction) -> float:
    """Return the smallest float64 that is not below `value`: ten epochs of epsilon 1 cost 10."""
    nearest = float(value)
    below = Decimal(nearest) < value if isinstance(value, Decimal) else Fraction(nearest) < value
    return math.nextafter(nearest, math.inf) if below else nearest


def likelihood_ratio(epsilon: float | Decimal) -> Decimal:
    """Return e^epsilon, the largest ratio of likelihoods that a loss of epsilon nats allows, in the current context.

    Far beyond the resolution of probabilities, it is one number for every epsilon.
    """
    return Decimal(min(epsilon, MAX_EPSILON)).exp()


def surest_guess(epsilon: float) -> float:
    """Return how certain an attacker who starts at 50:50 between two inputs can become by a loss of epsilon.

    It is e^epsilon / (1 + e^epsilon), by Bayes's rule from the odds that change by a factor of at most e^epsilon.
    """
    return 1.0 / (1.0 + math.exp(-epsilon))


def shown_guess(epsilon: float) -> str:
    """Format the best guess, rounded up to a tenth of a percent."""
    tenths = math.ceil(round(surest_guess(epsilon) * 1_000, 6))
    return f"{tenths / 10:.1f} %" if tenths < 1_000 else "over 99.9 %"


def shown_epsilon(epsilon: float, *, decimals: int = 3) -> str:
    """Format an epsilon in nats, rounded up to so many decimals, or as `inf`.

    A promise of privacy is never rounded down: read as a float64, the text is never below `epsilon`. The float64 that
    is written 1.1 is a little above that number, and still shown as `1.100`, which is read as the same float64.
    """
    if not abs(epsilon) < _NO_DECIMALS:
        return repr(float(epsilon))
    step = Decimal(1).scaleb(-decimals)
    return f"{Decimal(str(epsilon)).quantize(step, rounding=ROUND_CEILING, context=PRECISION):f}"
