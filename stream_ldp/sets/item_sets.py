"""The item sets of many users in two arrays, and the classes of their sizes that users may be asked for."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

#: Users whose itemsets, or missing items, are looked up at once: with 1,000 itemsets of three items, in 24 MB.
_USERS_AT_ONCE = 2**13


@dataclass(frozen=True, eq=False, slots=True)
class ItemSets:
    """Sets of non-negative items, one set a user: user i holds items[offsets[i]:offsets[i + 1]].

    offsets: int64, shape (users + 1,), from 0, not falling.
    items: int64, shape (offsets[-1],); those of a user are distinct.
    """

    offsets: NDArray[np.int64]
    items: NDArray[np.int64]

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> Self:
        """Convert sets, given as the items of each user; an item that is repeated in a set is held once."""
        sizes, items = array("q"), array("q")
        for each in sets:
            distinct = dict.fromkeys(each)
            sizes.append(len(distinct))
            items.extend(distinct)
        return cls(_offsets(np.array(sizes, dtype=np.int64)), np.array(items, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, users: slice | NDArray[Any] | list[int]) -> Self:
        """Select the sets of some users, by a slice, their places, or one truth value for each user."""
        return self.take(np.arange(len(self))[users])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of items of each user, int64, shape (users,)."""
        return np.diff(self.offsets)

    def take(self, users: NDArray[np.integer]) -> Self:
        """Select the sets of these users, in this order; a user may be given more than once."""
        sizes = self.sizes[users]
        offsets = _offsets(sizes)
        moved = np.repeat(self.offsets[:-1][users] - offsets[:-1], sizes)
        return type(self)(offsets, self.items[np.arange(offsets[-1]) + moved])

    def restricted(self, candidates: NDArray[np.int64], *, domain: int) -> Self:
        """Intersect each set with the candidates, and replace every item by its position among them.

        candidates: distinct items below `domain`, shape (c,); or itemsets, shape (c, s), with -1 after the items of
            one of fewer than s: each set is then replaced by the positions of those that it contains, ascending.
        domain: a number above every item.
        """
        if candidates.ndim == 2:
            return self._containing(candidates, domain=domain)
        places = np.full(domain, -1, dtype=np.int64)
        places[candidates] = np.arange(len(candidates))
        shared = places[self.items]
        candidate = shared >= 0
        before = np.concatenate(([0], np.cumsum(candidate)))
        return type(self)(before[self.offsets], shared[candidate])

    def _containing(self, itemsets: NDArray[np.int64], *, domain: int) -> Self:
        items = np.unique(itemsets[itemsets >= 0])
        among = self.restricted(items, domain=domain)
        sizes, contained = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(self), _USERS_AT_ONCE):
            part = among[start : start + _USERS_AT_ONCE]
            # The last column is held by everybody: it stands for the items that a smaller itemset does not have.
            holds = np.zeros((len(part), len(items) + 1), dtype=np.bool_)
            holds[np.repeat(np.arange(len(part)), part.sizes), part.items] = True
            holds[:, -1] = True
            columns = np.where(itemsets < 0, len(items), np.searchsorted(items, itemsets))
            held = holds[:, columns].all(axis=2)
            sizes.append(held.sum(axis=1))
            contained.append(np.nonzero(held)[1])
        return type(self)(_offsets(np.concatenate(sizes)), np.concatenate(contained))

    def complement(self, domain: int) -> Self:
        """Replace each set of items below `domain` by the items that it lacks, ascending."""
        sizes, lacking = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(self), _USERS_AT_ONCE):
            part = self[start : start + _USERS_AT_ONCE]
            lacks = np.ones((len(part), domain), dtype=np.bool_)
            lacks[np.repeat(np.arange(len(part)), part.sizes), part.items] = False
            sizes.append(lacks.sum(axis=1))
            lacking.append(np.nonzero(lacks)[1])
        return type(self)(_offsets(np.concatenate(sizes)), np.concatenate(lacking))

    def frequencies(self, domain: int) -> NDArray[np.float64]:
        """Compute the share of the users who hold each item, float64, shape (domain,); 0 without users."""
        return np.bincount(self.items, minlength=domain) / max(len(self), 1)


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


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
