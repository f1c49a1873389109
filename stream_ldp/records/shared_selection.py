"""Selections of bits that are counted together: each row once, by the pattern of all their bits.

Their own counts are sums of those of the pattern. To look a row up and to count it takes as long for a pattern of
three pairs as for that of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.records.bit_selection import BitSelection, Pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

#: Most bits of a pattern: to sum the counts of all its values takes 10 us for each selection, as to count 5,000 rows
#: does. With 16 bits it would take as long as 100,000 rows, which is a whole turn.
SHARED_BITS = 12

#: The fewest rows with which a pattern is counted in place of its selections.
SHARED_ROWS = 2**14

_Name = tuple[str, ...]


class SharedSelection:
    """A shared selection counts some selections, at least two, by one pattern.

    names: theirs.
    """

    def __init__(self, selections: Mapping[_Name, Sequence[int]]) -> None:
        """Take selections of at most SHARED_BITS different bits, by name: the positions of bits, in their order."""
        self.names = frozenset(selections)
        bits = sorted({bit for own in selections.values() for bit in own})
        self._selection = BitSelection(bits)
        every = np.arange(2 ** len(bits), dtype="<u2")[:, None].view(np.uint8)[:, : self._selection.width]
        place = {bit: number for number, bit in enumerate(bits)}
        self._patterns = {
            name: (_numbers(BitSelection([place[bit] for bit in own]).of(Pieces(every))), 2 ** len(own))
            for name, own in selections.items()
        }
        self._size = len(every)

    def no_rows(self) -> NDArray[np.int64]:
        """Return the number of rows of each pattern where there are none: 0, int64, shape (2^bits,)."""
        return np.zeros(self._size, dtype=np.int64)

    def patterns(self, pieces: Pieces) -> NDArray[np.int64]:
        """Count the rows of each pattern; int64, shape (2^bits,)."""
        return np.bincount(_numbers(self._selection.of(pieces)), minlength=self._size)

    def counts(self, patterns: NDArray[np.int64]) -> Iterator[tuple[_Name, NDArray[np.int64]]]:
        """Yield the counts of each selection, int64, shape (2^bits,), from those of all patterns."""
        for name, (own, size) in self._patterns.items():
            # Sums of fewer than 2^53 rows are exact in float64.
            yield name, np.bincount(own, weights=patterns, minlength=size).astype(np.int64)


def shared_selections(selections: Mapping[_Name, Sequence[int]]) -> list[SharedSelection]:
    """Put selections together, each to the first whose pattern has room for it; leave out those that stay alone."""
    groups: list[dict[_Name, Sequence[int]]] = []
    for name, own in selections.items():
        for group in groups:
            if len({*own, *(bit for other in group.values() for bit in other)}) <= SHARED_BITS:
                group[name] = own
                break
        else:
            groups.append({name: own})
    return [SharedSelection(group) for group in groups if len(group) > 1]


def _numbers(rows: NDArray[np.uint8]) -> NDArray[np.unsignedinteger]:
    """Return rows of one or two bytes as numbers."""
    return rows.view(f"<u{rows.shape[1]}")[:, 0]
