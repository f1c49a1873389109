"""The layout of the batches of a collection of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from stream_ldp.pipeline.statistics import tally_of_rows
from stream_ldp.records.bit_selection import BitSelection, Pieces
from stream_ldp.records.linking import reports_per_user
from stream_ldp.records.shared_selection import SHARED_ROWS, shared_selections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream_ldp.pipeline.statistics import Tally
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
