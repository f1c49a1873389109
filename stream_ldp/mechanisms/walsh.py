"""The fast Walsh-Hadamard transform."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

#: Numbers of a block, 128 KiB: it and another one, to which each step writes what it makes of the first, stay in a
#: core's second cache for 14 steps. With twice or half as many, 2^20 numbers take a tenth longer.
_BLOCK = 2**14

#: Length of the products in a block; each does four of the log2(length) steps. 32 operations a number take less than
#: to fetch the number four times, as butterflies do; products of 32 take longer for each step. Products of up to 2^18
#: terms stay on the calling thread. In longer ones, the threads of OpenBLAS wait for each other on a busy machine: up
#: to seconds for 2^20 numbers.
_RADIX = 16


def transform(numbers: NDArray[np.float64]) -> None:
    """Replace x by H x in place: the sum over j of (-1)^popcount(j & v) x[j] for every v.

    numbers: C-contiguous, shape (m,), m a power of two. Sums below 2^53 of whole numbers are exact.

    Raises:
        ValueError: the length is not a power of two.
    """
    length = len(numbers)
    if length < 1 or length & (length - 1):
        raise ValueError(f"a Walsh-Hadamard transform needs a length that is a power of two, got {length}")
    spare = np.empty(min(length, _BLOCK))
    for block in numbers.reshape(-1, len(spare)):
        _transform_block(block, spare)
    stride = len(spare)
    while stride < length:
        # Two products in a row over each strip, whose numbers are fetched once for the steps of both.
        steps = min((length // stride).bit_length() - 1, _RADIX.bit_length() * 2 - 2)
        outer, inner = 2 ** (steps - steps // 2), 2 ** (steps // 2)
        width = len(spare) // (outer * inner)
        between = spare.reshape(inner, outer, width)
        for part in numbers.reshape(-1, outer, inner, stride):
            for start in range(0, stride, width):
                strip = part[:, :, start : start + width]
                np.matmul(_hadamard(outer), strip.swapaxes(0, 1), out=between)
                np.matmul(_hadamard(inner), between.swapaxes(0, 1), out=strip)
        stride *= outer * inner


def _transform_block(block: NDArray[np.float64], spare: NDArray[np.float64]) -> None:
    """Transform a block in place, with the help of as many numbers."""
    source, target, stride = block, spare, 1
    while stride < len(block):
        radix = min(_RADIX, len(block) // stride)
        if stride == 1:
            np.matmul(source.reshape(-1, radix), _hadamard(radix), out=target.reshape(-1, radix))
        else:
            shape = (-1, radix, stride)
            np.matmul(_hadamard(radix), source.reshape(shape), out=target.reshape(shape))
        source, target, stride = target, source, stride * radix
    if source is not block:
        block[:] = source


@lru_cache
def _hadamard(order: int) -> NDArray[np.float64]:
    # Not imported above: a client perturbs without transforming, and need not wait for SciPy.
    from scipy.linalg import hadamard  # noqa: PLC0415

    return hadamard(order, dtype=np.float64)
