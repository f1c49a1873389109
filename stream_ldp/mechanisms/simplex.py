"""Projection of estimates to the nearest distribution."""

import numpy as np
from numpy.typing import NDArray

#: Size of the largest weight beyond which the rounding of weights, 1e-10 and more, would show in the shares.
_LARGE = 2.0**20


def on_simplex(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the nearest distribution in Euclidean distance (Duchi et al., 2008); norm-sub in Wang et al. (2020).

    weights: finite, shape (n,), n at least 1.

    Returns:
        Shares in [0, 1], shape (n,), whose sum is 1 to rounding.
    """
    descending = np.sort(weights)[::-1]
    if abs(descending[0]) > _LARGE:
        # What all weights have in common makes no difference to the shares, but to their rounding.
        return on_simplex(weights - descending[0])
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(weights) + 1)
    threshold = float(excess[np.flatnonzero(descending > excess)[-1]])
    # Without a bound, one that gets all would be above 1 by rounding.
    return np.clip(weights - threshold, 0.0, 1.0)
