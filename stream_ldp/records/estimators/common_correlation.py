"""One correlation that all pairs of binary attributes have in common.

Binary attributes of one table often ask for the same thing in several ways, such as what a person cannot do alone.
The coefficient of their pairs (basis.py) is a correlation, positive if the second values go with each other. If all
pairs have about the same one, m, many of them are evidence of it, although each is mostly noise. With N reports, u /
lambda estimates each with precision N lambda, so m is estimated by

    x / W,    x = sum N u,    W = sum N lambda    over the pairs,

with precision W. It is taken as normal with mean 0 and a variance v. The log marginal likelihood of v over v = 0 is
1/2 [v x^2 / (1 + v W) - ln(1 + v W)]. Neither sign is the likelier one before there are reports.
"""

import math
from typing import NamedTuple, Self

import numpy as np

from stream_ldp.records.estimators.patterns import FloatArray

#: The variances that are tried, evenly spaced in their logarithms; a correlation of 1/2 is a large one.
_VARIANCES = np.geomspace(0.25e-3, 0.25, 40)


class CommonCorrelation(NamedTuple):
    """A correlation that is learnt from reports.

    mean: posterior mean of m.
    evidence: log marginal likelihood over that of m = 0, with a prior that is flat in ln v, nats.
    """

    mean: float
    evidence: float

    @classmethod
    def learn(cls, estimates: FloatArray, precisions: FloatArray) -> Self:
        """Learn it from pairs of binary attributes.

        estimates: u / lambda of each pair, shape (pairs,).
        precisions: N lambda, same shape.
        """
        x, weight = float(estimates @ precisions), float(precisions.sum())
        grown = 1.0 + _VARIANCES * weight
        log_ratios = 0.5 * (_VARIANCES * x**2 / grown - np.log(grown))
        highest = float(log_ratios.max())
        ratios = np.exp(log_ratios - highest)
        mean = float(ratios @ (_VARIANCES * x / grown)) / float(ratios.sum())
        return cls(mean, highest + math.log(float(ratios.mean())))
