"""The likeliest distribution given estimates of its frequencies.

Of many values, most estimates are noise, and their nearest distribution (norm-sub; Wang et al., 2020) is mostly what
noise has made large. So each is first shrunk towards what all of them suggest (`FrequencyPrior`), as far as its error
leaves it open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.filtering.shrinkage import FrequencyPrior
from stream_ldp.mechanisms.simplex import on_simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Fewest values from which a distribution of frequencies is learnt: fewer carry too little information. Over ten
#: shapes, four epsilons, and 1,000 and 20,000 users, the distance of the nearest distribution falls to 0.93 with 8
#: values, to 0.87 with 12, and to 0.47 with 200; the worst of these settings rises to 1.6 with 8, and to 1.15 with
#: 16.
MIN_LEARNT = 12
#: Floor of an error: estimates without noise are left as they are.
_TINY = 1e-12


def likely_distribution(frequency: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the likeliest distribution given unbiased estimates of all its frequencies.

    frequency: the estimates, shape (values,), at least one.
    error: their standard errors, same shape.

    Returns:
        Shares in [0, 1], same shape, whose sum is 1 to rounding.
    """
    if len(frequency) < MIN_LEARNT:
        return on_simplex(frequency)
    errors = np.maximum(error, _TINY)
    return on_simplex(FrequencyPrior.learn(frequency, errors).drawn(frequency, errors).mean)
