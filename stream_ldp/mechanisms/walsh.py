"""The fast Walsh-Hadamard transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Length of the matrix products. Twice 16 operations a number for every 4 of the log2(length) steps are still less
#: than it takes to fetch the number four times, as butterflies do: 10 ms for 2^20 numbers instead of 22 ms.
_RADIX = 16

#: Length transformed in one go: 128 KiB of float64 stay in a core's cache. Its products have 16 * 2^14 = 2^18 terms,
#: up to which OpenBLAS stays on the calling thread. In longer ones, its threads wait for each other on a busy
#: machine: up to seconds for 2^20 numbers.
_CACHED = 2**14


def transform(numbers: NDArray[np.float64]) -> None:
    """Replace x by H x in place: the sum over j of (-1)^popcount(j & v) x[j] for every v.

    numbers: C-contiguous, shape (m,), m a power of two. Sums below 2^53 of whole numbers are exact.

    Raises:
        ValueError: the length is not a power of two.
    """
    length = len(numbers)
    if length < 1 or length & (length - 1):
        raise ValueError(f"a Walsh-Hadamard transform needs a length that is a power of two, got {length}")
    stride = min(length, _CACHED)
    for part in numbers.reshape(-1, stride):
        part[:] = _transformed(part)
    while stride < length:
        radix = min(_RADIX, length // stride)
        matrix = _hadamard(radix)
        width = _CACHED // radix
        for part in numbers.reshape(-1, radix, stride):
            for start in range(0, stride, width):
                strip = part[:, start : start + width]
                strip[:] = matrix @ strip
        stride *= radix


def _hadamard(order: int) -> NDArray[np.float64]:
    # Not imported above: a client perturbs without transforming, and need not wait for SciPy.
    from scipy.linalg import hadamard  # noqa: PLC0415

    return hadamard(order, dtype=np.float64)


def _transformed(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return H x. An index is a number of several digits: each product sums over the last digit and puts it in front.

    After as many products as there are digits, all digits are back in their places.
    """
    left = len(numbers)
    while left > 1:
        radix = min(_RADIX, left)
        numbers = (_hadamard(radix) @ numbers.reshape(-1, radix).T).reshape(-1)
        left //= radix
    return numbers
