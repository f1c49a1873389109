"""What a reader of sums alone learns of one of many reports: amplification by shuffling.

Sums of reports do not depend on whose report is whose. So a reader of sums, and of answers computed from them, sees
no more than the reports in random order. Among these, the reports of others may hide a user's own. How far they do is
bounded numerically: for any report of a local epsilon as in section 3 of Feldman, McMillan and Talwar (2021, "Hiding
among the clones"). Where a report's distribution has a simple form, its `Blanket` is several times tighter. What is
computed is raised by more than its rounding errors: no bound is below the exact one.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.composition import Losses, least_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms.blanket import Blanket

#: The chance that a stated epsilon of shuffled reports does not hold: far below one user of any collection.
DELTA = 1e-8

#: Reports beyond these are not taken into account, which makes the bound larger than it need be. They would take
#: seconds, and of these an epsilon of hundredths is left where the local one is 3.
MAX_REPORTS = 10**6

#: Chance, relative to delta, of numbers of clones that are not looked at on either side: it is added to the result.
_TAIL = 1e-7

#: Relative errors of the incomplete beta and gamma functions stay far below this, by which all is raised.
_RAISED = 1e-6


def shuffled_delta(epsilon: float, *, local: float, reports: int, tail: float = 1e-18) -> float:
    """Return delta for which shuffled reports are (epsilon, delta)-private, for any change of one user's input.

    Each report is made with fresh noise at a local epsilon of at most `local`, by a user who makes no other. Let C ~
    Bin(reports - 1, e^-local), A ~ Bin(C, 1/2) and B ~ Bern(e^local / (e^local + 1)). Let P be the distribution of (A
    + B, C - A + 1 - B), and Q that of (A + 1 - B, C - A + B). Then delta is the divergence sup_S P(S) - e^epsilon
    Q(S).

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
    return float(weights @ np.maximum(divergences, 0.0)) * (1.0 + _RAISED) + 2.0 * tail


@lru_cache(maxsize=1_024)
def shuffled_epsilon(local: float, *, reports: int, delta: float, blanket: Blanket | None = None) -> float:
    """Return epsilon for which shuffled reports are (epsilon, delta)-private; see `shuffled_delta` and
    `Blanket.delta`.

    It is never above `local`, at which delta would be 0.

    blanket: of a report; None where it is not known.

    Raises:
        ParameterError: an argument is out of its range.
    """
    return min(
        least_epsilon(curve, delta=delta, most=local)
        for curve in _curves(local, reports=reports, delta=delta, blanket=blanket)
    )


def composed_epsilon(
    local: float, *, reports: int, delta: float, times: int, blanket: Blanket | None = None
) -> float:
    """Return epsilon of reports that are shuffled so many times, the user's among so many others each time.

    All noise is drawn anew each time, for all users; what the user and the others hold may change in any way. It is
    never above `times` the local epsilon, nor below the exact one.

    local, reports, delta, blanket: as for `shuffled_epsilon`, of each time.

    Raises:
        ParameterError: an argument is out of its range.
    """
    return min(
        losses.composed(times, delta=delta)
        for losses in _losses(local, reports=reports, delta=delta, blanket=blanket)
    )


@lru_cache(maxsize=64)
def _losses(local: float, *, reports: int, delta: float, blanket: Blanket | None) -> list[Losses]:
    return [
        Losses.of(curve, delta=delta, most=local)
        for curve in _curves(local, reports=reports, delta=delta, blanket=blanket)
    ]


def _curves(
    local: float, *, reports: int, delta: float, blanket: Blanket | None
) -> Sequence[Callable[[float], float]]:
    """Return bounds of delta as functions of epsilon; each holds for every epsilon."""
    if not 0.0 < delta < 1.0:
        raise ParameterError(f"delta is a probability, got {delta}")
    counted = min(reports, MAX_REPORTS)

    def clones(epsilon: float) -> float:
        return shuffled_delta(epsilon, local=local, reports=counted, tail=_TAIL * delta)

    def hidden(epsilon: float) -> float:
        return 1.0 if blanket is None else blanket.delta(epsilon, reports=counted)

    # A blanket that has a larger part of a report than a clone of another is the better bound, but for few reports.
    if blanket is None or blanket.share < math.exp(-local):
        return [clones] if blanket is None else [clones, hidden]
    return [hidden]
