"""The variance of a cell of a marginal that the answers about a view show.

All variances are for a uniform population, times the number of reports, unless they say otherwise.
"""

from __future__ import annotations

from functools import lru_cache

from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, SubsetResponse
from stream_ldp.sampled.oracles import mean_variance

__all__ = ["contrast_noise", "contrast_variance", "has_fixed_total", "marginal_variance"]


def has_fixed_total(oracle: FrequencyOracle) -> bool:
    """Say whether the estimated frequencies always sum to 1, since every report supports equally many values."""
    return isinstance(oracle, DirectResponse | SubsetResponse)


@lru_cache(maxsize=4096)
def marginal_variance(oracle: FrequencyOracle, cells: int) -> float:
    """Return the variance of a frequency in a marginal of so many cells, each the sum of as many cells of the view.

    With L cells in the view and m of them in one of the marginal, it is m v (L - m) / (L - 1) + f (1 - f): v is the
    mean variance of the oracle for a cell; the factor is there where the errors of all cells sum to 0; f = m / L,
    because the users who are asked are a sample of all.

    cells: at least 1, a divisor of the oracle's size.
    """
    merged = oracle.size // cells
    noise = merged * mean_variance(oracle)
    if has_fixed_total(oracle):
        noise *= (oracle.size - merged) / (oracle.size - 1)
    share = 1 / cells
    return noise + share * (1 - share)


@lru_cache(maxsize=4096)
def contrast_noise(oracle: FrequencyOracle, cells: int) -> float:
    """Return the variance of the noise in an orthonormal contrast of a marginal of so many cells.

    With L cells in the view, m of them in one of the marginal, and v the mean variance of the oracle for a cell, it
    is m v, or m v L / (L - 1) where the errors of all cells sum to 0.

    cells: at least 1, a divisor of the oracle's size.
    """
    noise = oracle.size // cells * mean_variance(oracle)
    return noise * oracle.size / (oracle.size - 1) if has_fixed_total(oracle) else noise


@lru_cache(maxsize=4096)
def contrast_variance(oracle: FrequencyOracle, cells: int) -> float:
    """Return the variance of an orthonormal contrast: that of its noise, and 1 / cells of the sampling of users.

    cells: at least 1, a divisor of the oracle's size.
    """
    return contrast_noise(oracle, cells) + 1 / cells
