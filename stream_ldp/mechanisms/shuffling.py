"""What a reader of sums alone learns of one of many reports: amplification by shuffling.

Sums of reports do not depend on whose report is whose. So whoever sees nothing but sums, and answers computed from
them, sees no more than the reports in random order, in which those of others may hide a user's own. How far they do
is bounded numerically, as in section 3 of Feldman, McMillan and Talwar (2021, "Hiding among the clones").
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError

#: The chance that a stated epsilon of shuffled reports does not hold: far below one user of any collection.
DELTA = 1e-8

#: Reports beyond these are not taken into account, which makes the bound larger than it need be. They would take
#: seconds, and of these an epsilon of hundredths is left where the local one is 3.
MAX_REPORTS = 10**6

#: Chance, relative to delta, of numbers of clones that are not looked at on either side: it is added to the result.
_TAIL = 1e-3

#: Halvings of the range of epsilon: the result is above the bound by less than a millionth of the local epsilon.
_STEPS = 20


def shuffled_delta(epsilon: float, *, local: float, reports: int, tail: float = 1e-18) -> float:
    """Return delta for which shuffled reports are (epsilon, delta)-private, for any change of one user's input.

    Each report is made with fresh noise at a local epsilon of at most `local`, by a user who makes no other. With
    C ~ Bin(reports - 1, e^-local), A ~ Bin(C, 1/2) and B ~ Bern(e^local / (e^local + 1)), delta is the divergence
    sup_S P(S) - e^epsilon Q(S) of P, the distribution of (A + B, C - A + 1 - B), from Q, that of (A + 1 - B,
    C - A + B).

    epsilon, local: in nats.
    reports: n, number of reports.
    tail: chance of numbers C, on either side, that are not looked at; it is added.

    Raises:
        ParameterError: an epsilon is negative, or there is no report.
    """
    if not (epsilon >= 0 and local > 0 and reports >= 1):
        raise ParameterError(f"no bound for epsilon={epsilon}, local={local} and {reports} reports")
    # Imported here: a client never amplifies, and must not wait for the import of SciPy.
    from scipy.special import betainc, gammaln, xlog1py, xlogy  # noqa: PLC0415

    # Weights of A and A + 1 in the difference: it is largest on the outputs whose first number is at least some cut.
    high = 1.0 / (1.0 + math.exp(-local))
    odds = math.exp(epsilon)
    gain, loss = high - odds * (1.0 - high), odds * high - (1.0 - high)
    if gain <= 0.0:
        return 0.0
    others, clone = min(reports, MAX_REPORTS) - 1, math.exp(-local)
    spread = math.sqrt(2.0 * others * clone * -math.log(tail)) + -math.log(tail)
    low = max(0, math.floor(others * clone - spread))
    clones = np.arange(low, min(others, math.ceil(others * clone + spread)) + 1, dtype=np.float64)
    weights = np.exp(
        gammaln(others + 1.0)
        - gammaln(clones + 1.0)
        - gammaln(others - clones + 1.0)
        + xlogy(clones, clone)
        + xlog1py(others - clones, -clone)
    )
    cut = np.floor((clones + 1.0) * (loss / (gain + loss))) + 1.0

    def at_least(least: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(A >= least) for each number of clones: the regularised incomplete beta function."""
        inside = np.clip(least, 1.0, np.maximum(clones, 1.0))
        chance = betainc(inside, np.maximum(clones, 1.0) - inside + 1.0, 0.5)
        return np.where(least <= 0.0, 1.0, np.where(least > clones, 0.0, chance))

    divergences = gain * at_least(cut - 1.0) - loss * at_least(cut)
    return float(weights @ np.maximum(divergences, 0.0)) + 2.0 * tail


@lru_cache(maxsize=1_024)
def shuffled_epsilon(local: float, *, reports: int, delta: float) -> float:
    """Return epsilon for which shuffled reports are (epsilon, delta)-private; see `shuffled_delta`.

    It is never above `local`, at which delta would be 0.

    Raises:
        ParameterError: an argument is out of its range.
    """
    if not 0.0 < delta < 1.0:
        raise ParameterError(f"delta is a probability, got {delta}")
    low, high = 0.0, local
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if shuffled_delta(middle, local=local, reports=reports, tail=_TAIL * delta) <= delta:
            high = middle
        else:
            low = middle
    return high
