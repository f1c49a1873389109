"""Exactly uniform integers from random words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms.randomness.entropy import RESOLUTION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms.randomness.entropy import Entropy

__all__ = ["uniform_integers"]


def uniform_integers(sizes: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.int64]:
    """One integer of each of the ranges 0 to size - 1, int64, shape (n,).

    sizes: shape (n,), each 1 to 2^32.

    A word beyond the last whole multiple of the size is drawn again: the remainder of the others is uniform to the
    last digit, where that of all words would favour the small ones.

    Raises:
        ValueError: a size is out of its range.
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    if np.any((sizes < 1) | (sizes > RESOLUTION)):
        raise ValueError(f"a range has 1 to 2^32 integers, got sizes from {sizes.min()} to {sizes.max()}")
    drawn = np.empty(len(sizes), dtype=np.int64)
    open_ = np.arange(len(sizes))
    while len(open_):
        words = entropy.words(len(open_)).astype(np.int64)
        size = sizes[open_]
        taken = words < RESOLUTION - RESOLUTION % size
        drawn[open_[taken]] = words[taken] % size[taken]
        open_ = open_[~taken]
    return drawn
