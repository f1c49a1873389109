"""Open panes of source partitions, put together again from what their owners have saved of them.

See `stream_ldp.pipeline.saved_panes`. It is a fold of the partials topic, in the order of its log.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pipeline.partials import MergeRecord, Partial
from stream_ldp.pipeline.saved_panes import PanesList, Saved, SavedPane, SavedPlace
from stream_ldp.pipeline.statistics import Statistic


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoredStatistic:
    """A statistic as it was counted up to an offset.

    since: offset of the first record that is not counted.
    segments: its segments, by their numbers.
    """

    since: int
    segments: Mapping[int, Statistic]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class RestoredPane:
    """A pane as it was saved.

    saved: its entry in the list.
    hashes: those of the batches that it had counted, uint64.
    statistics: by fingerprint and name.
    """

    saved: SavedPane
    hashes: NDArray[np.uint64]
    statistics: Mapping[tuple[bytes, tuple[str, ...]], RestoredStatistic]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class RestoredPanes:
    """The open panes of a source partition.

    offset: that of the first record that is not counted in them.
    id_key: key of the hashes.
    """

    offset: int
    id_key: bytes
    panes: tuple[RestoredPane, ...]

    @property
    def fingerprints(self) -> set[bytes]:
        """Those of the reports that they hold."""
        return {fingerprint for pane in self.panes for fingerprint, _ in pane.statistics}


class Restoring:
    """A restoring puts saved panes together again, from the records of the partials topic."""

    def __init__(self, places: Mapping[int, SavedPlace], *, fingerprint: str, file: str, region: str = "") -> None:
        """Begin without records.

        places: of each source partition, what its last commit says.
        fingerprint, file: of the collection, in hexadecimal, and the digest of its file.
        region: the region whose partitions these are.
        """
        self._places = places
        self._fingerprint = fingerprint
        self._file = file
        self._region = region
        self._lists: dict[int, Saved] = {}
        self._hashes: dict[str, Saved] = {}
        # By source partition, generation, start of the pane, name and segment.
        self._partials: dict[int, dict[tuple[int, int, tuple[str, ...]], dict[int, Partial]]] = defaultdict(dict)

    def take(self, record: MergeRecord | Saved) -> None:
        """Take a record of the collection into account, in the order of the log."""
        if record.region != self._region or record.fingerprint != self._fingerprint:
            return
        if isinstance(record, Saved):
            place = self._places.get(record.partition)
            if place is None:
                return
            if record.sort == "hashes":
                self._hashes[record.digest] = record
            elif record.digest == place.digest:
                self._lists[record.partition] = record
            return
        for each in record.parts:
            place = self._places.get(each.partition)
            if place is not None and each.end <= place.position:
                self._take_partial(each)

    def _take_partial(self, partial: Partial) -> None:
        of = self._partials[partial.partition].setdefault((partial.generation, partial.pane_ms, partial.of), {})
        held = of.setdefault(partial.segment, partial)
        if held.end < partial.end:
            of[partial.segment] = partial

    def panes(self, partition: int) -> RestoredPanes | None:
        """Return the saved panes of a source partition; None if anything of them is missing or in doubt."""
        saved = self._lists.get(partition)
        if saved is None:
            return None
        listed, panes = saved.panes(), []
        if listed.file != self._file:
            return None
        for each in listed.panes:
            pane = self._restored(each, listed, saved)
            if pane is None:
                return None
            panes.append(pane)
        return RestoredPanes(offset=listed.offset, id_key=bytes.fromhex(listed.id_key), panes=tuple(panes))

    def _restored(self, pane: SavedPane, listed: PanesList, saved: Saved) -> RestoredPane | None:
        hashes = [self._hashes[digest].hashes() for digest in pane.hashes if digest in self._hashes]
        if len(hashes) < len(pane.hashes):
            return None
        statistics = {}
        for each in pane.statistics:
            partials = self._partials[saved.partition].get((saved.generation, pane.start_ms, each.of), {})
            ends = [partials[segment].end for segment in sorted(partials)]
            if (
                sorted(partials) != list(range(len(ends)))
                or len(ends) < len(each.ends)
                or any(end < least for end, least in zip(ends, each.ends, strict=False))
            ):
                return None
            statistics[bytes.fromhex(each.fingerprint), each.of] = RestoredStatistic(
                # What has not been sent since the panes were saved had not changed then.
                since=max(listed.offset, *ends),
                segments={segment: partial.counts for segment, partial in partials.items()},
            )
        return RestoredPane(
            saved=pane,
            hashes=np.concatenate([np.zeros(0, dtype=np.uint64), *hashes]),
            statistics=statistics,
        )
