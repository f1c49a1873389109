"""The layout of the batches of a collection of records, and selections of their bits that are counted together.

The counts of each selection are sums of those of the pattern of all their bits. To look a row up and to count it
takes as long for a pattern of three pairs as for that of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from stream_ldp.pipeline.statistics import Tally, tally_of_rows
from stream_ldp.records.bit_selection import BitSelection, Pieces
from stream_ldp.records.linking import reports_per_user

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream_ldp.pipeline.statistics.row_tally import TableTally
    from stream_ldp.records.collection import JointCollection

#: Rows that are counted at a time: each table comes into a core's cache once for all of them.
_BLOCK_ROWS = 2**17


class JointLayout:
    """The layout of the reports of all attributes of a collection, a `stream_ldp.pipeline.layout.Layout`."""

    def __init__(self, collection: JointCollection) -> None:
        self.fingerprint = collection.fingerprint
        self._mechanism = collection.mechanism
        self.bits = collection.bits
        self._pseudonym_bytes = collection.pseudonym_bits // 8
        columns = {each.counted: collection.row_bits_of(each.counted) for each in collection.counted}
        self._widths = {of: len(bits) for of, bits in columns.items()}
        self._selections = {of: BitSelection(bits) for of, bits in columns.items()}
        self._shared = shared_selections(columns)
        self._reports_per_user = collection.window.reports_per_user

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Decide which rows are reports of the mechanism."""
        return self._mechanism.valid(self._without_pseudonyms(rows))

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Accept every pane: records are reported at any time."""
        return np.ones(len(panes), dtype=np.bool_)

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """Make one tally for the attributes of each estimate."""
        return {of: tally_of_rows(bits) for of, bits in self._widths.items()}

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """Count the bits of its attributes in each tally."""
        shared = [each for each in self._shared if len(rows) >= SHARED_ROWS and each.names <= tallies.keys()]
        patterns = [each.no_rows() for each in shared]
        alone = tallies.keys() - frozenset[tuple[str, ...]]().union(*(each.names for each in shared))
        for first in range(0, len(rows), _BLOCK_ROWS):
            pieces = Pieces(rows[first : first + _BLOCK_ROWS])
            for place, each in enumerate(shared):
                patterns[place] += each.patterns(pieces)
            for of in alone:
                tallies[of].update(self._selections[of].of(pieces))
        for each, found in zip(shared, patterns, strict=True):
            for of, counts in each.counts(found):
                cast("TableTally", tallies[of]).add(counts)

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Decide which batches the mechanism finds implausible."""
        reports = self._without_pseudonyms(rows)
        found = self._mechanism.implausible(reports, counts, reports_per_user=self._reports_per_user)
        if not self._pseudonym_bytes:
            return found
        # A batch of one user's reports is no wonder: they share their permanent noise, and say that they are one's.
        suspects, theirs = counts[found], np.repeat(found, counts)
        if len(suspects):
            of_users = reports_per_user(rows[theirs], suspects)
            found[found] = self._mechanism.implausible(reports[theirs], suspects, reports_per_user=of_users)
        return found

    def _without_pseudonyms(self, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return np.ascontiguousarray(rows[:, self._pseudonym_bytes :])


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
