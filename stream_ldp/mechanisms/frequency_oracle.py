"""What every mechanism for one value out of many answers, and what all of them have in common.

A report supports some values of the domain: the one it was made from with probability p, any other with q. That is
all that an estimate needs (a pure protocol; Wang, Blocki, Li and Jha, 2017, section 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms.randomness.entropy import Entropy

__all__ = ["FrequencyOracle", "checked_values", "frequencies", "standard_errors"]


class FrequencyOracle(Protocol):
    """Perturbs one of `size` values, or one of the dummies that come after them."""

    @property
    def size(self) -> int:
        """Number of values that are estimated: 0 to size - 1. What is not below is a dummy."""
        ...

    @property
    def bits(self) -> int:
        """Bits of a report."""
        ...

    @property
    def counters(self) -> int:
        """Length of the vector that reports are counted in."""
        ...

    @property
    def support(self) -> tuple[float, float]:
        """(p, q), as realised: chance that a report supports the value it was made from, and any other value."""
        ...

    @property
    def epsilon(self) -> float:
        """Privacy loss in nats of one report, of any two inputs; never rounded down."""
        ...

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """One report of each of many users, packed rows, uint8, shape (n, ceil(bits / 8)), unused bits 0.

        values: shape (n,).

        Raises:
            ValueError: a value is negative or beyond the dummies.
        """
        ...

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which rows are reports that `perturb` can make, bool, shape (n,)."""
        ...

    def sums(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The counts of valid rows, int64, shape (counters,); those of several batches add up."""
        ...

    def supports(self, sums: NDArray[np.int64], *, reports: int) -> NDArray[np.float64]:
        """Number of reports that support each value, float64, shape (size,)."""
        ...


def frequencies(oracle: FrequencyOracle, sums: NDArray[np.int64], *, reports: int) -> NDArray[np.float64]:
    """Unbiased estimate of the part of the reports made from each value, float64, shape (size,).

    (C / n - q) / (p - q) for C supports among n reports (Wang et al., 2017, eq. 2); 0 where there are none.
    """
    p, q = oracle.support
    if not reports:
        return np.zeros(oracle.size)
    return (oracle.supports(sums, reports=reports) / reports - q) / (p - q)


def standard_errors(oracle: FrequencyOracle, frequency: NDArray[np.float64], *, reports: int) -> NDArray[np.float64]:
    """Standard error of `frequencies`, for true values as estimated; infinite where there are no reports."""
    p, q = oracle.support
    if not reports:
        return np.full(len(frequency), np.inf)
    supported = np.clip(frequency, 0.0, 1.0) * (p - q) + q
    return np.sqrt(supported * (1.0 - supported) / reports) / (p - q)


def checked_values(values: NDArray[np.integer], *, choices: int | None = None) -> NDArray[np.int64]:
    """The values as int64.

    choices: number of values and dummies; None: every value beyond the domain is a dummy.

    Raises:
        ValueError: they are not integers of shape (n,), or one is negative or not among the choices.
    """
    given = np.asarray(values)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"values must be integers of shape (n,), got {given.dtype} of shape {given.shape}")
    # The value itself stays out of the message: it is what the mechanism protects.
    if np.any(given < 0):
        raise ValueError("a value is negative; they count from 0")
    if choices is not None and np.any(given >= choices):
        raise ValueError(f"a value is beyond the {choices} values and dummies, 0 to {choices - 1}")
    return given.astype(np.int64)
