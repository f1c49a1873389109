"""The open panes of a source partition, saved on the partials topic, so that its next owner goes on from them.

A pane is saved as the hashes of the batches that it has counted since it was saved before, and as a list of all that
belongs to it: its hashes, and the partials that have its counts. A commit names the list by its digest, once all of
it is acknowledged. So what a commit names was written by one owner, and is complete; where the log does not have it
any more, the reports are read again from the first one of the oldest open pane. docs/decisions/16-saved-panes.md says
why that is exact.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from stream_ldp.pipeline.content_type import PARTIAL, STAYS, Headers
from stream_ldp.pipeline.source import Source, place_in_key

#: Most hashes of a record, half a megabyte of them.
RECORD_HASHES = 2**16

#: Bytes of a digest: nobody but a worker writes what it names.
_DIGEST_BYTES = 16

_HASH = np.dtype("<u8")


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedPlace:
    """What a commit says of saved panes.

    digest: that of the list.
    position: offset up to which the owner who saved them has committed, and all its partials are valid.
    since_ms: time at which the first report of these panes came, by the broker's clock, in milliseconds.
    """

    digest: str
    position: int
    since_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedStatistic:
    """A statistic of a pane.

    fingerprint: that of the reports, in hexadecimal.
    of: its name; see `stream_ldp.pipeline.partials.Partial`.
    ends: offset before which the last partial of each segment covers the partition; a later one is as good.
    """

    fingerprint: str
    of: tuple[str, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedPane:
    """An entry of the list.

    start_ms: start of the pane, event time in milliseconds.
    first_offset, first_ms: offset of its first report, and when the broker appended it, in milliseconds.
    reports: number of its reports.
    hashes: digest of each record that has the hashes of some of its batches.
    """

    start_ms: int
    first_offset: int
    first_ms: int
    reports: int
    hashes: tuple[str, ...]
    statistics: tuple[SavedStatistic, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PanesList:
    """All open panes of a source partition.

    file: digest of the collection's file, by which they were counted.
    offset: that before which the partition is counted in them.
    id_key: key of the hashes, in hexadecimal.
    """

    file: str
    offset: int
    id_key: str
    panes: tuple[SavedPane, ...]


_LIST = TypeAdapter(PanesList)


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """A record of what is saved.

    collection, fingerprint, region, partition, generation: see `stream_ldp.pipeline.partials.Partial`.
    sort: `hashes` for those of some batches that a pane has counted, u64 each, or `panes` for a list.
    """

    collection: str
    fingerprint: str
    partition: int
    generation: int
    sort: str
    payload: bytes
    region: str = ""

    @classmethod
    def of_hashes(cls, hashes: NDArray[np.uint64], **source: Any) -> Self:
        """Make the record of some hashes, uint64, shape (batches,)."""
        return cls(**source, sort="hashes", payload=hashes.astype(_HASH).tobytes())

    @classmethod
    def of_panes(cls, panes: PanesList, **source: Any) -> Self:
        """Make the record of a list."""
        return cls(**source, sort="panes", payload=_LIST.dump_json(panes))

    def hashes(self) -> NDArray[np.uint64]:
        """Return the hashes that it is made of.

        Raises:
            ValueError: it is made of none.
        """
        return np.frombuffer(self.payload, dtype=_HASH).astype(np.uint64)

    def panes(self) -> PanesList:
        """Return the list that it is made of.

        Raises:
            ValueError: it is made of none.
        """
        return _LIST.validate_json(self.payload)

    def key(self, *, writer: str) -> list[Any]:
        """An owner's later list replaces an earlier one, and no record of hashes replaces another."""
        name = writer if self.sort == "panes" else self.digest
        return [self.sort, self.collection, place_in_key(Source(self.region, self.partition)), name]

    @property
    def header(self) -> dict[str, Any]:
        return {"partition": self.partition, "epoch": self.generation, "saved": self.sort}

    @property
    def headers(self) -> Headers:
        """The headers of its record."""
        return (*PARTIAL, STAYS) if self.region else PARTIAL

    @property
    def digest(self) -> str:
        """Its name: that of hashes in a list, and that of a list in a commit."""
        return hashlib.blake2b(self.payload, digest_size=_DIGEST_BYTES).hexdigest()

    @property
    def nbytes(self) -> int:
        """Number of bytes in memory."""
        return len(self.payload)


def in_records(hashes: NDArray[np.uint64]) -> Iterator[NDArray[np.uint64]]:
    """Cut hashes into as many as a record takes."""
    for first in range(0, len(hashes), RECORD_HASHES):
        yield hashes[first : first + RECORD_HASHES]
