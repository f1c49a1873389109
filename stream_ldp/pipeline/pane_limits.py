"""The most that a pane takes of one source partition, and from which offset on.

The limits are a setting of workers. A record that is read again has to be decided as it was before, also by a worker
with another setting. Otherwise it would leave the count without a dead letter, or count in spite of one. So a commit
says from which offset on which limits hold, and an owner with other ones adds its own beyond all that was decided.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

#: Most limits in a commit, whose metadata may have 4 KB by the default of brokers. With as many, those of the next
#: owner wait until the oldest window has closed.
MOST_LIMITS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class PaneLimits:
    """The most that a pane takes of one source partition.

    batches: number of batches, whose ids it remembers by their hashes.
    linked: number of reports; sys.maxsize where they carry no pseudonyms.
    since: offset of the first record that is decided by them, unless they are the first.
    """

    batches: int = sys.maxsize
    linked: int = sys.maxsize
    since: int = 0

    def equals(self, other: PaneLimits) -> bool:
        """Decide whether they are the same, from wherever on."""
        return (self.batches, self.linked) == (other.batches, other.linked)


def at(limits: Sequence[PaneLimits], offset: int) -> PaneLimits:
    """Return the limits by which a record is decided."""
    return next((each for each in reversed(limits) if each.since <= offset), limits[0])


def spans(limits: Sequence[PaneLimits], offsets: NDArray[np.int64]) -> Iterator[tuple[PaneLimits, slice]]:
    """Yield each of the limits that some records are decided by, and where these are.

    offsets: ascending, int64, shape (records,).
    """
    if len(limits) == 1:  # nearly always
        yield limits[0], slice(None)
        return
    cuts = [0, *np.searchsorted(offsets, [each.since for each in limits[1:]]).tolist(), len(offsets)]
    for each, (first, end) in zip(limits, pairwise(cuts), strict=True):
        if first < end:
            yield each, slice(first, end)


def followed(limits: Sequence[PaneLimits], by: PaneLimits, *, since: int, oldest: int) -> tuple[PaneLimits, ...]:
    """Return limits, followed by others from an offset on, unless they are the same or there are too many.

    oldest: offset of the oldest record that may be decided again; what no record from there on needs is left out.
    """
    kept = [*(each for each, later in pairwise(limits) if later.since > oldest), limits[-1]]
    if kept[-1].equals(by) or len(kept) >= MOST_LIMITS:
        return tuple(kept)
    # Where the brokers have lost the end of the log, some were to hold for what was there.
    kept = [each for each in kept if each.since < since]
    return tuple(kept) if kept and kept[-1].equals(by) else (*kept, replace(by, since=since))
