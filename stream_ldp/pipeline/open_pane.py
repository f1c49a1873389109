"""The open panes of a source partition: what each has counted so far, and how much more it takes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.pipeline.seen_batches import SeenBatches
from stream_ldp.pipeline.verdicts import Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.statistics import Tally


@dataclass(frozen=True, kw_only=True, slots=True)
class PaneLimits:
    """The most that a pane takes of one source partition.

    batches: number of batches, whose ids it remembers by their hashes.
    linked: number of reports; sys.maxsize where they carry no pseudonyms.
    """

    batches: int = sys.maxsize
    linked: int = sys.maxsize


class OpenPane:
    """A pane that still takes reports.

    first_offset: offset of its first batch, from which it can be counted again.
    tallies: by fingerprint, the tallies of what its batches reported.
    """

    def __init__(self, *, first_offset: int, limits: PaneLimits) -> None:
        """Begin without reports."""
        self.first_offset = first_offset
        self.tallies: dict[bytes, dict[tuple[str, ...], Tally]] = {}
        self._limits = limits
        self._seen = SeenBatches()
        self._reports = 0

    def admit(self, hashes: NDArray[np.uint64], reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take the batches for which there is room, one after the other, and return the `Verdict` on each.

        hashes: those of the ids, uint64, shape (batches,); see `stream_ldp.pipeline.seen_batches`.
        reports: number of reports of each, int64, shape (batches,).
        """
        known, together = self._seen.contains(hashes), int(reports.sum())
        # Nearly always all are new, and there is room.
        if (
            not known.any()
            and len(set(hashes.tolist())) == len(hashes)
            and len(self._seen) + len(hashes) <= self._limits.batches
            and self._reports + together <= self._limits.linked
        ):
            self._seen.add(hashes)
            self._reports += together
            return np.full(len(hashes), Verdict.COUNTED, dtype=np.int64)
        taken: set[int] = set()
        verdicts = np.array(
            [
                Verdict.DUPLICATE if seen else self._verdict(each, number, taken)
                for seen, each, number in zip(known.tolist(), hashes.tolist(), reports.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
        self._seen.add(hashes[verdicts == Verdict.COUNTED])
        return verdicts

    def _verdict(self, each: int, reports: int, taken: set[int]) -> Verdict:
        """Decide on a batch that was not counted before those of `taken`; add it if it is counted."""
        if each in taken:
            return Verdict.DUPLICATE
        if len(self._seen) + len(taken) >= self._limits.batches:
            return Verdict.CROWDED
        if self._reports + reports > self._limits.linked:
            return Verdict.FULL
        taken.add(each)
        self._reports += reports
        return Verdict.COUNTED

    def count(self, layout: Layout, rows: NDArray[np.uint8]) -> None:
        """Count packed reports, uint8, shape (reports, width), of batches that it has taken."""
        if layout.fingerprint not in self.tallies:
            self.tallies[layout.fingerprint] = layout.tallies()
        layout.count(self.tallies[layout.fingerprint], rows)
