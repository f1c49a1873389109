"""The batches that a pane has counted, by hashes of their ids, so that a copy is not counted again.

A hash has 8 bytes where an id has 16, and a table of numbers holds it in 13 to 27, where a set of ids takes 100 bytes
each. If two ids have the same hash by chance, the later batch is taken for a copy and lost: among n batches of a pane
and partition with a probability of at most n^2 / 2^65. It is 1.1e-5 for the 20 million that `max_batches` allows, and
2.7e-8 for a million. The hash is keyed, so chosen ids do no better.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: An id is four words of 32 bits.
_WORDS, _ID = 4, np.dtype("V16")

#: Slots of an empty table.
_LEAST_SLOTS = 64

#: The largest share of slots that are filled, beyond which a table doubles: with more, looks take longer.
_MOST_FILLED = 0.6


#: Hashes that are looked at one by one, since a round of array operations takes as long as for so many.
_FEW = 24


class BatchHash:
    """A hash of batch ids to 64 bits, drawn by a key from a strongly universal family.

    Each half is m_0 + m_1 w_1 + ... + m_4 w_4 modulo 2^64, for the four words w of an id, without its lower half.
    Without the multipliers m, two ids of an attacker have the same hash with a probability of 2^-64, whatever the ids
    (Lemire and Kaser, "Strongly universal string hashing is fast", 2014, section 2.1: MULTILINEAR).
    """

    def __init__(self, key: bytes) -> None:
        """Draw the multipliers.

        key: secret from those who make the ids.
        """
        self.key = key
        drawn = np.frombuffer(hashlib.shake_256(key).digest(2 * 8 * (1 + _WORDS)), dtype="<u8").astype(np.uint64)
        self._offsets, self._multipliers = drawn[:2], drawn[2:].reshape(_WORDS, 2)

    def __call__(self, batch_ids: Sequence[bytes] | NDArray[np.void]) -> NDArray[np.uint64]:
        """Hash ids of 16 bytes each; uint64, shape (ids,), none of them 0."""
        words = np.asarray(batch_ids, dtype=_ID).view("<u4").reshape(-1, _WORDS).astype(np.uint64)
        halves = words @ self._multipliers + self._offsets
        halves >>= np.uint64(32)
        hashes: NDArray[np.uint64] = halves[:, 0] << np.uint64(32) | halves[:, 1]
        return np.maximum(hashes, np.uint64(1))


def _slots(number: int) -> int:
    """Return how many slots a table of so many hashes has: as it doubles, a power of two."""
    slots = _LEAST_SLOTS
    while number > _MOST_FILLED * slots:
        slots *= 2
    return slots


def table_bytes(number: int) -> int:
    """Return how many bytes of memory a table of so many hashes takes."""
    return np.dtype(np.uint64).itemsize * _slots(number)


class SeenBatches:
    """A set of hashes: a table in which each has the first free slot from that of its lowest bits on."""

    def __init__(self) -> None:
        self._slots = np.zeros(_LEAST_SLOTS, dtype=np.uint64)  # 0 where one is free
        self._number = 0

    def __len__(self) -> int:
        return self._number

    @property
    def nbytes(self) -> int:
        """Number of bytes in memory."""
        return self._slots.nbytes

    def look(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Decide which hashes, uint64, shape (n,), it has; bool, shape (n,).

        Returns:
            That, and the place of each, int64, shape (n,): where it is, or the free slot that it would have.
        """
        slots, places = self._slots, self._places(hashes)
        found = slots[places]
        has: NDArray[np.bool_] = found == hashes
        left = np.flatnonzero(~has & (found != 0))
        while len(left) > _FEW:
            places[left] = self._after(places[left])
            found = slots[places[left]]
            has[left] = found == hashes[left]
            left = left[(found != 0) & ~has[left]]
        for each in left.tolist():
            wanted, place = hashes[each], int(places[each])
            while slots[place] not in (0, wanted):
                place = (place + 1) % len(slots)
            places[each], has[each] = place, slots[place] == wanted
        return has, places

    def add(self, hashes: NDArray[np.uint64], places: NDArray[np.int64]) -> None:
        """Add hashes that it does not have, all different, shape (n,), at the places that `look` has found."""
        self._number += len(hashes)
        if self._number > _MOST_FILLED * len(self._slots):
            hashes = np.concatenate((self._slots[self._slots != 0], hashes))
            self._slots = np.zeros(_slots(self._number), dtype=np.uint64)
            places = self._places(hashes)
        slots = self._slots
        while len(hashes) > _FEW:
            free = slots[places] == 0
            # Of those that would fill the same slot, one does.
            slots[places[free]] = hashes[free]
            left = slots[places] != hashes
            hashes, places = hashes[left], self._after(places[left])
        for each, place in zip(hashes, places.tolist(), strict=True):
            while slots[place]:
                place = (place + 1) % len(slots)  # noqa: PLW2901
            slots[place] = each

    def _places(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (hashes & np.uint64(len(self._slots) - 1)).astype(np.int64)

    def _after(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return (places + 1) & (len(self._slots) - 1)
