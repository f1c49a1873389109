"""The classes of set sizes that a user may be asked for: powers of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Most classes: the last holds all sets of more than 64 items. A padding of 128 is the most that sets of 2^8 hashes
#: are made for.
_MOST = 8


def class_count(domain: int) -> int:
    """Return the number of classes of sets of items 0 to domain - 1, domain >= 2."""
    return min(_MOST, 1 + (domain - 1).bit_length())


def class_names(domain: int) -> tuple[str, ...]:
    """Return the names of the classes of sets of items 0 to domain - 1, such as "5 to 8"."""
    count = class_count(domain)
    named = ["0 or 1", "2", *(f"{2 ** (each - 1) + 1} to {2**each}" for each in range(2, count))]
    if 2 ** (count - 1) < domain:
        named[-1] = f"{2 ** (count - 2) + 1} or more"
    return tuple(named)


def classes_of(sizes: NDArray[np.int64], *, count: int) -> NDArray[np.int64]:
    """Return the class of each size, int64: j of more than 2^(j-1) items and at most 2^j; 0 of none.

    count: number of classes; the last has all larger sets.
    """
    return np.searchsorted(2 ** np.arange(count - 1), sizes).astype(np.int64)


def largest_of(number: int, *, domain: int) -> int:
    """Return the largest size of a class; of the last, the largest for which sets are padded."""
    return min(1 << number, domain)


def largest_padding(domain: int) -> int:
    """Return the most slots that sets are padded to after a phase about sizes."""
    return largest_of(class_count(domain) - 1, domain=domain)
