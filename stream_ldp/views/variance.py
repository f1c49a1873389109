"""The variance of a cell of a marginal that the answers about a view show.

All variances are for a uniform population, times the number of reports, unless they say otherwise.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import FrequencyOracle


@lru_cache(maxsize=4096)
def marginal_variance(oracle: FrequencyOracle, cells: int) -> float:
    """Return the variance of a frequency in a marginal of so many cells, each the sum of as many cells of the view.

    With L cells in the view, and m of them in one of the marginal, it is m v (L - m) / (L - 1) + f (1 - f): v is the
    mean variance of the oracle for a cell; the factor is there where the errors of all cells sum to 0; f = m / L,
    because the users who are asked are a sample of all.

    cells: at least 1, a divisor of the oracle's size.
    """
    merged = oracle.size // cells
    noise = merged * oracle.mean_variance
    if oracle.fixed_total:
        noise *= (oracle.size - merged) / (oracle.size - 1)
    share = 1 / cells
    return noise + share * (1 - share)


@lru_cache(maxsize=4096)
def contrast_noise(oracle: FrequencyOracle, cells: int) -> float:
    """Return the variance of the noise in an orthonormal contrast of a marginal of so many cells.

    The view has L cells, m of them in one of the marginal, and v is the mean variance of the oracle for a cell. It is
    m v, or m v L / (L - 1) where the errors of all cells sum to 0.

    cells: at least 1, a divisor of the oracle's size.
    """
    noise = oracle.size // cells * oracle.mean_variance
    return noise * oracle.size / (oracle.size - 1) if oracle.fixed_total else noise


def contrast_variance(oracle: FrequencyOracle, cells: int) -> float:
    """Return the variance of an orthonormal contrast of a marginal of so many cells, with the sampling of users.

    cells: at least 1, a divisor of the oracle's size.
    """
    return contrast_noise(oracle, cells) + 1 / cells


def marginal_covariance(oracle: FrequencyOracle, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance of the frequencies in a marginal, with the sampling of users, times the reports.

    A report supports a cell of the view with probability s = q + P (p - q). It supports two cells i and j at once
    with g + (P_i + P_j) (h - g): g if it is of neither, h if it is of one of them. If every report supports w of the
    L cells, then h = p (w - 1) / (L - 1), and g = (w - 1) (w - 2 p) / ((L - 1) (L - 2)). Otherwise one is supported
    whether or not the other is, with h = p q and g = q^2. All of it is linear in P but for s_i s_j, so that the sums
    of m cells each need only the marginal.

    probability: P of each cell of the marginal, shape (cells,); `cells` divides the oracle's size.

    Returns:
        float64, shape (cells, cells).
    """
    p, q = oracle.support
    size, merged = oracle.size, oracle.size // len(probability)
    both, one = q**2, p * q
    if oracle.fixed_total:
        members = p + (size - 1) * q
        one = p * (members - 1) / (size - 1)
        both = (members - 1) * (members - 2 * p) / ((size - 1) * (size - 2)) if size > 2 else 0.0
    supported = merged * q + probability * (p - q)
    alone = merged * (q - both) + probability * (p - q - 2 * (one - both))
    pairs = merged**2 * both + merged * (one - both) * np.add.outer(probability, probability)
    found: NDArray[np.float64] = np.diag(alone) + pairs - np.outer(supported, supported)
    return found / (p - q) ** 2
