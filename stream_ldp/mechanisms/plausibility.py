"""Tests of plausibility have this in common: they are tests against clients that send what they like.

Each mechanism tests what nobody's data can change in its reports: the number of set bits of RR-LDP, or the rows that
a Hadamard response draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

#: Probability that the reports of honest users are flagged, each time they are checked: with a window a minute, which
#: are 525,960 a year, an estimate has one false alarm in two years.
FALSE_ALARM_RATE = 1e-6

#: Probability that an honest batch is flagged: a worker that counts a thousand batches a second has at most one false
#: alarm in eleven days.
BATCH_FALSE_ALARM = 1e-9

#: Least expected reports of a cell; smaller ones are pooled with their neighbours. By exact enumeration (10 to 1,000
#: reports, 1 to 50 attributes of 2 to 20 values, six noise levels, up to four cells each) honest reports then have a
#: p-value below 1e-6 with a chance of at most 2.4e-6, or 5.9e-6 where one attribute has fewer than 50 reports. The
#: same cells under Pearson's statistic reach 1.4e-5, and cells of one report 4e-4: that one overrates rare cells.
MIN_EXPECTED = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PlausibilityTest:
    """The result of a test whether reports agree with the mechanism that is said to have made them.

    statistic: corrected likelihood-ratio statistic, summed over the independent counts that were compared; about
        chi-square distributed for honest reports.
    degrees_of_freedom: of that distribution; 0 if there are too few reports for a test.
    p_value: probability that honest reports agree no better, in [0, 1].
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float

    @property
    def flagged(self) -> bool:
        """True if honest reports would agree no better in less than one of 1 / `FALSE_ALARM_RATE` checks."""
        return self.p_value < FALSE_ALARM_RATE


#: e^-x of a larger x is 0 as a number of 64 bits.
_LARGEST_EXPONENT = 700.0

#: The result if there are too few reports for a test, or nothing in them that nobody's data can change.
UNTESTED = PlausibilityTest(statistic=0.0, degrees_of_freedom=0, p_value=1.0)


def compared(
    sums: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], *, scores: Sequence[float] = ()
) -> PlausibilityTest:
    """Test independent multinomial counts, each an (observed, expected) pair with one sum.

    scores: further independent ones; honest reports take each beyond +-x at most as often as a standard normal
        variable, see `total_score`.
    """
    # Not imported above: a program that only reads a collection tests nothing, and need not wait for SciPy.
    from scipy.special import chdtrc, kl_div  # noqa: PLC0415

    deviance, bias, degrees_of_freedom = 0.0, 0.0, 0
    for observed, expected in sums:
        if len(expected) > 1:
            reports = float(expected.sum())
            deviance += 2 * float(kl_div(observed, expected).sum())
            bias += (float((reports / expected).sum()) - 1) / (6 * reports)
            degrees_of_freedom += len(expected) - 1
    if not degrees_of_freedom + len(scores):
        return UNTESTED
    statistic = deviance / (1 + bias / max(degrees_of_freedom, 1)) + sum(score**2 for score in scores)
    degrees_of_freedom += len(scores)
    return PlausibilityTest(
        statistic=statistic,
        degrees_of_freedom=degrees_of_freedom,
        p_value=float(chdtrc(degrees_of_freedom, statistic)),
    )


def total_score(total: float, *, least: float, largest: float, variance: float) -> float:
    """Score how far a sum of independent bits is from where honest ones have their mean.

    Honest sums exceed a score of +-x at most as often as a standard normal variable, for every number of bits: with a
    distance d from the means and a variance V, the chance is at most t = 2 exp(-d^2 / (2 V + 2 d / 3)) by Bernstein's
    inequality (Boucheron, Lugosi and Massart, 2013, Corollary 2.11). The score is the one that a normal variable
    exceeds with this chance.

    least, largest: the least and the largest mean that honest reports can have.
    variance: the largest that their sum can have.
    """
    distance = max(least - total, total - largest, 0.0)
    if distance == 0.0:
        return 0.0
    exponent = min(distance**2 / (2 * variance + 2 * distance / 3), _LARGEST_EXPONENT)
    half = math.exp(-exponent)
    return math.copysign(-NormalDist().inv_cdf(half), total - largest) if half < 0.5 else 0.0
