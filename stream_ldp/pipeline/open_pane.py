"""The open panes of a source partition: what each has counted so far, and which batches that were."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.pipeline.saved_panes import Saved, SavedPane, SavedStatistic, in_records
from stream_ldp.pipeline.seen_batches import SeenBatches
from stream_ldp.pipeline.statistics import Room, Statistic, Tally, take_changed
from stream_ldp.pipeline.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.pane_limits import PaneLimits
    from stream_ldp.pipeline.restoring import RestoredPane


#: Bytes of reports that a pane gathers, at most, before it counts them. They are counted table by table, and each
#: table has to come into a core's cache first: those of 28 pairs of 8 x 8 values on 16 partitions are 235 MB. Among
#: 2,000 others a report takes 0.6 us, and among 2^17 it takes 0.09 us.
GATHERED_BYTES = 2**20


class OpenPane:
    """A pane that still takes reports.

    first_offset: offset of its first batch, from which it can be counted again.
    first_ms: time at which the broker appended that, in milliseconds.
    """

    def __init__(self, *, first_offset: int, first_ms: int = 0, saves: bool = False) -> None:
        """Begin without reports.

        saves: whether `save` is going to be called.
        """
        self.first_offset = first_offset
        self.first_ms = first_ms
        self._tallies: dict[bytes, dict[tuple[str, ...], Tally]] = {}
        # By fingerprint, the reports that are still to be counted.
        self._gathered: dict[bytes, tuple[Layout, list[NDArray[np.uint8]]]] = {}
        self._gathered_bytes = 0
        self._seen = SeenBatches()
        self._reports = 0
        # The hashes that `save` has not seen; None if it is never called.
        self._unsaved: list[NDArray[np.uint64]] | None = [] if saves else None
        self._saved: tuple[str, ...] = ()
        # By statistic and segment: the end of the last partial.
        self._ends: dict[tuple[str, ...], dict[int, int]] = defaultdict(dict)
        # By fingerprint and statistic, of a restored pane: offset of the first record that it has not counted.
        self._since: dict[tuple[bytes, tuple[str, ...]], int] = {}

    @property
    def nbytes(self) -> int:
        """Bytes in memory of its statistics that are sent whole, and of the reports that it has gathered."""
        wholes = (tally.whole for tallies in self._tallies.values() for tally in tallies.values())
        return self._gathered_bytes + sum(whole.nbytes for whole in wholes if whole is not None)

    @classmethod
    def restored(cls, pane: RestoredPane, *, layouts: Mapping[bytes, Layout]) -> Self:
        """Go on as the pane that was saved.

        layouts: of all its fingerprints.

        Raises:
            ValueError, KeyError: it is not of these layouts.
        """
        new = cls(first_offset=pane.saved.first_offset, first_ms=pane.saved.first_ms, saves=True)
        new._reports, new._saved = pane.saved.reports, pane.saved.hashes
        new._seen.add(pane.hashes, new._seen.look(pane.hashes)[1])
        for (fingerprint, of), statistic in pane.statistics.items():
            new._tallies_of(layouts[fingerprint])[of].restore(statistic.segments)
            new._since[fingerprint, of] = statistic.since
        return new

    def admit(
        self, hashes: NDArray[np.uint64], reports: NDArray[np.int64], *, limits: PaneLimits
    ) -> NDArray[np.int64]:
        """Take the batches for which there is room, one after the other, and return the `Verdict` on each.

        hashes: those of the ids, uint64, shape (batches,); see `stream_ldp.pipeline.seen_batches`.
        reports: number of reports of each, int64, shape (batches,).
        """
        known, places = self._seen.look(hashes)
        together = int(reports.sum())
        # Nearly always all are new, and there is room.
        if (
            not known.any()
            and len(set(hashes.tolist())) == len(hashes)
            and len(self._seen) + len(hashes) <= limits.batches
            and self._reports + together <= limits.linked
        ):
            self._add(hashes, places)
            self._reports += together
            return np.full(len(hashes), Verdict.COUNTED, dtype=np.int64)
        taken: set[int] = set()
        verdicts = np.array(
            [
                Verdict.DUPLICATE if seen else self._verdict(each, number, taken, limits)
                for seen, each, number in zip(known.tolist(), hashes.tolist(), reports.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
        new = verdicts == Verdict.COUNTED
        self._add(hashes[new], places[new])
        return verdicts

    def _add(self, hashes: NDArray[np.uint64], places: NDArray[np.int64]) -> None:
        self._seen.add(hashes, places)
        if self._unsaved is not None:
            self._unsaved.append(hashes)

    def _verdict(self, each: int, reports: int, taken: set[int], limits: PaneLimits) -> Verdict:
        """Decide on a batch that was not counted before those of `taken`; add it if it is counted."""
        if each in taken:
            return Verdict.DUPLICATE
        if len(self._seen) + len(taken) >= limits.batches:
            return Verdict.CROWDED
        if self._reports + reports > limits.linked:
            return Verdict.FULL
        taken.add(each)
        self._reports += reports
        return Verdict.COUNTED

    def count(
        self, layout: Layout, rows: NDArray[np.uint8], *, counts: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> None:
        """Count the reports of batches that it has taken, or gather them to be counted together.

        rows: packed reports of all batches, uint8, shape (reports, width).
        counts, offsets: number of reports of each batch, and offset of its record, int64, shape (batches,).
        """
        if offsets[0] >= max(self._since.values(), default=0):
            self._since = {}
            self._gathered.setdefault(layout.fingerprint, (layout, []))[1].append(rows)
            self._gathered_bytes += rows.nbytes
            if self._gathered_bytes >= GATHERED_BYTES:
                self._count_gathered()
            return
        for since, tallies in self._by_offset(layout):
            new = offsets >= since
            if new.any():
                layout.count(tallies, rows[np.repeat(new, counts)])

    def take_changed(
        self, *, closing: bool, room: Room | None
    ) -> Iterator[Mapping[tuple[str, ...], Mapping[int, Statistic]]]:
        """Yield what is to be sent of its statistics; see `stream_ldp.pipeline.statistics.take_changed`."""
        for layout, _ in self._gathered.values():
            self._tallies_of(layout)
        for fingerprint, tallies in self._tallies.items():
            _, rows = self._gathered.get(fingerprint, (None, ()))
            yield from take_changed(
                tallies, closing=closing, room=room, gathered=sum(map(len, rows)), count=self._count_gathered
            )

    def _count_gathered(self) -> None:
        gathered, self._gathered, self._gathered_bytes = self._gathered, {}, 0
        for layout, rows in gathered.values():
            layout.count(self._tallies_of(layout), np.concatenate(rows))

    def _by_offset(self, layout: Layout) -> Iterator[tuple[int, Mapping[tuple[str, ...], Tally]]]:
        """Iterate over the offsets from which some tallies of a layout count, and these."""
        grouped: dict[int, dict[tuple[str, ...], Tally]] = defaultdict(dict)
        for of, tally in self._tallies_of(layout).items():
            grouped[self._since.get((layout.fingerprint, of), 0)][of] = tally
        yield from grouped.items()

    def _tallies_of(self, layout: Layout) -> dict[tuple[str, ...], Tally]:
        if layout.fingerprint not in self._tallies:
            self._tallies[layout.fingerprint] = layout.tallies()
        return self._tallies[layout.fingerprint]

    def note_sent(self, of: tuple[str, ...], segment: int, *, end: int) -> None:
        """Note that a partial of a segment covers the partition up to an offset."""
        self._ends[of][segment] = end

    def save(self, start_ms: int, *, record: Callable[[NDArray[np.uint64]], Saved]) -> tuple[list[Saved], SavedPane]:
        """Return what has to be saved of a pane whose statistics have all been sent as they are.

        start_ms: its start, event time in milliseconds.
        record: makes the record of some hashes.
        """
        unsaved, self._unsaved = self._unsaved or [], []
        records = [record(part) for part in in_records(np.concatenate(unsaved))] if unsaved else []
        self._saved += tuple(each.digest for each in records)
        names = {of: fingerprint for fingerprint, tallies in self._tallies.items() for of in tallies}
        return records, SavedPane(
            start_ms=start_ms,
            first_offset=self.first_offset,
            first_ms=self.first_ms,
            reports=self._reports,
            hashes=self._saved,
            statistics=tuple(
                SavedStatistic(
                    fingerprint=names[of].hex(), of=of, ends=tuple(end for _, end in sorted(segments.items()))
                )
                for of, segments in self._ends.items()
            ),
        )
