"""Projection of estimates to the nearest distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["on_simplex"]


def on_simplex(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the nearest distribution in Euclidean distance (Duchi et al., 2008); norm-sub in Wang et al. (2020).

    weights: shape (n,), n at least 1.
    """
    descending = np.sort(weights)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(weights) + 1)
    threshold = float(excess[np.flatnonzero(descending > excess)[-1]])
    return np.maximum(weights - threshold, 0.0)
