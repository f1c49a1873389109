"""The counting of one source partition: records in log order become partials, a checkpoint and a watermark.

It is a pure state machine. Its counts of the open panes are a function of the log and of the committed idle advances.
So after a crash another worker arrives at the same partials by reading again from the checkpoint.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.pipeline import pane_limits, wire
from stream_ldp.pipeline.merge_checkpoint import file_digest
from stream_ldp.pipeline.open_pane import OpenPane
from stream_ldp.pipeline.pane_limits import PaneLimits
from stream_ldp.pipeline.partials import Partial, PartialRecord, Watermark, together
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.pipeline.saved_panes import PanesList, Saved, SavedPlace
from stream_ldp.pipeline.seen_batches import BatchHash
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.topic_identity import UNASKED, TopicIdentity
from stream_ldp.pipeline.verdicts import NEVER, Timed, Verdict, judge_times, rejections
from stream_ldp.pipeline.windows import closes_at, pane_of, panes_closed

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.restoring import RestoredPanes
    from stream_ldp.pipeline.statistics import Room

#: Fingerprints that are kept from one call of `count` to the next: more than there are rounds with open windows, and
#: few enough to compare each of them with every batch.
MAX_LAYOUTS = 16

#: Milliseconds of event time after which a watermark that closes no pane is written: a rebuild begins no later than
#: with the newest one. Written with each flush, they are a third of what a merge reads under a light load.
ANNOUNCE_MS = 5_000

#: Milliseconds of event time between two advances of a silent partition that close only what nobody waits for. Each
#: costs two commits and a watermark. A rebuild begins no further back, and no alert takes it for a fault.
SILENT_MS = 600_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """The outcome of counting some records, without those that an earlier owner had read.

    reports: number of reports counted for the first time.
    duplicates: number of reports in batches that had been counted before.
    late: number of reports in batches whose pane had closed.
    implausible: number of batches that do not look honest; their reports are counted all the same.
    rejected: (index of the record, rejection) of every batch that cannot be counted, the late ones among them.
    """

    reports: int
    duplicates: int
    late: int
    implausible: int
    rejected: list[tuple[int, Rejected]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """The records that a flush has to write, in this order: partials and what is saved of open panes, then the
    checkpoint, then the watermark.

    The checkpoint is the fence: only a worker that still owns the partition can commit it, and no pane closes
    before its watermark is on the log.
    """

    records: list[PartialRecord]
    checkpoint: Checkpoint
    watermark: Watermark | None
    saved: Sequence[Saved] = ()

    @property
    def partials(self) -> list[Partial]:
        """All partials of the records."""
        return [part for each in self.records for part in each.parts]


class SourcePartition:
    """The state of one source partition of one collection."""

    def __init__(
        self,
        collection: Collection,
        layout: Layout,
        *,
        partition: int,
        start: int = 0,
        watermark_ms: int | None = None,
        topic: TopicIdentity = UNASKED,
        checkpoint: Checkpoint | None = None,
        generation: int = 1,
        max_batches: int | None = None,
        max_linked: int | None = None,
        end: int | None = None,
        id_key: bytes = b"",
        save_records: int | None = None,
        log_end: int = 0,
        region: str = "",
    ) -> None:
        """Begin at `checkpoint`, or at offset `start` if nothing is committed yet.

        layout: layout of the batches under the collection's own fingerprint.
        watermark_ms: event time, in milliseconds, from which the partition begins to count without a checkpoint; see
            `stream_ldp.pipeline.closed_so_far`. None if nothing has been closed.
        topic: the reports topic, as it is now.
        max_batches: most batches of a pane, whose ids it remembers; further ones are refused. None for no limit.
        max_linked: most reports of a pane, where the collection links them; batches with further ones are refused.
            None for no limit. Those of an earlier owner decide what it may have decided.
        log_end: offset before which an earlier owner may have decided more than it has committed.
        end: offset of the first record that does not count, since the collection had been retired; None if it is not.
        save_records: number of records, at most which the next owner has to read again, but for those that come
            between two flushes: so often, open panes are saved. None to save none.
        id_key: key of the hashes by which it remembers batches, secret from those who choose their ids.
        region: the region whose brokers have the partition; see `stream_ldp.pipeline.source.Source`.
        generation: number of this ownership, unless that of the checkpoint is already as high. The time of day is a
            good choice: it is above all earlier ones, even if their commits have been deleted.
        """
        self._collection = collection
        self._fingerprint = collection.fingerprint.hex()
        self._layouts: dict[bytes, Layout] = {layout.fingerprint: layout}
        self._region, self._partition = region, partition
        self._panes: dict[int, OpenPane] = {}
        self._checkpoint = (
            replace(
                checkpoint,
                generation=max(generation, checkpoint.generation + 1),
                topic=checkpoint.topic if checkpoint.topic.id else topic,
            )
            if checkpoint
            else Checkpoint(
                generation=generation,
                offset=start,
                position=start,
                watermark_ms=watermark_ms,
                watermark_generation=generation,
                topic=topic,
            )
        )
        self._limits = PaneLimits(
            batches=sys.maxsize if max_batches is None else max_batches,
            linked=sys.maxsize if max_linked is None or not collection.links_reports else max_linked,
        )
        if not self._checkpoint.limits:
            self._checkpoint = replace(self._checkpoint, limits=(self._limits,))
        self._log_end = log_end
        self._claimed = False
        # The last watermark that was written.
        self._announced_ms: int | None = None
        self._end = end
        self._hash = BatchHash(id_key)
        self._save_records = save_records
        # Offset up to which the next owner need not read, if it restores what is saved.
        self._saved_to = 0
        # Whether this owner has saved panes, and not the one before.
        self._saves = False
        self._silent_ms = 0.0
        #: Offset of the next record to count.
        self.position = self._checkpoint.offset
        self._marks_to = 0
        # The verdicts on the records before this offset have been reported.
        self._news_from = self._checkpoint.position
        self._watermark = NEVER if self._checkpoint.watermark_ms is None else self._checkpoint.watermark_ms
        self._watermark_of_data = self._watermark
        self._watermark_if_idle = NEVER
        # Watermark from which on there is nothing to say of a silent partition: see `_next_close_ms`.
        self._all_said_ms = self._all_said(self._watermark)
        #: The latest time at which the broker has appended one of the records before `position`; see `Checkpoint`.
        self.appended_ms = self._checkpoint.appended_ms

    def restore(self, restored: RestoredPanes) -> None:
        """Go on, before the first record, from the panes that are saved, instead of from the first report of one.

        The layouts of all their reports have to be learnt.

        Raises:
            ValueError, KeyError: they are not those of this collection; none of them is restored.
        """
        window = self._collection.window
        self._panes = {
            pane.saved.start_ms: OpenPane.restored(pane, layouts=self._layouts)
            for pane in restored.panes
            if closes_at(pane.saved.start_ms, window) > self._watermark
        }
        self._hash = BatchHash(restored.id_key)
        self.position = self._saved_to = restored.offset

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the last `take_changes`, or that from which it began, under its own generation."""
        return self._checkpoint

    @property
    def watermark_ms(self) -> int | None:
        """Event time that the partition has reached, in milliseconds; None before its first batch."""
        return None if self._watermark == NEVER else self._watermark

    @property
    def advanced_ms(self) -> int | None:
        """Event time that it will have reached with the next flush; None before its first batch."""
        reached = max(self._watermark, self._watermark_if_idle)
        return None if reached == NEVER else reached

    @property
    def replaying(self) -> bool:
        """True while it reads again what an earlier owner had read: a flush then writes nothing."""
        return self.position < self._news_from

    @property
    def hurries(self) -> bool:
        """Whether the next flush would claim the partition, or let windows close: it waits for no later report."""
        if not self._claimed:
            return True
        window, committed_ms = self._collection.window, self._checkpoint.watermark_ms
        reached = max(self._watermark, self._watermark_if_idle)
        committed = panes_closed(NEVER if committed_ms is None else committed_ms, window)
        return not self.replaying and panes_closed(reached, window) > committed

    def reads(self, fingerprint: bytes) -> bool:
        """Decide whether batches of a fingerprint can be counted."""
        return fingerprint in self._layouts

    def learn(self, layout: Layout) -> None:
        """Count batches of another fingerprint, until `MAX_LAYOUTS` later ones have been learnt."""
        self._layouts[layout.fingerprint] = layout

    @property
    def read_to(self) -> int:
        """Offset before which nothing is left to count: `position`, or behind marks of transactions at the end."""
        return max(self.position, self._marks_to)

    def pass_marks(self, end: int) -> None:
        """Take note that the log has marks of transactions, and no record, from `position` to an end."""
        self._marks_to = end

    @property
    def finished(self) -> bool:
        """Whether no later record can count: its windows close without a wait for one."""
        return self._end is not None and self.read_to >= self._end

    @property
    def rests_ms(self) -> float:
        """Milliseconds of silence, from now on, in which it closes no pane by itself; 0 if it has to be looked at."""
        window = self._collection.window
        if self.replaying or not self._claimed:
            return 0.0
        if self._watermark_of_data == NEVER:
            return math.inf
        if self.finished:
            return math.inf if self._watermark >= self._last_close_ms else 0.0
        if window.idle_timeout_ms is None:
            return math.inf
        return max(0.0, self._next_close_ms - self._watermark_of_data + window.idle_timeout_ms - self._silent_ms)

    @property
    def settled_ms(self) -> float:
        """Milliseconds in which neither reports nor silence close a pane; 0 if they may now."""
        if self.appended_ms is None:
            return 0.0
        window = self._collection.window
        # No report counts as one of a later time than its own on the log.
        until_ms = closes_at(self.panes_closed * window.pane_ms, window) - self.appended_ms - self._silent_ms
        return max(0.0, min(until_ms, self.rests_ms))

    @property
    def _next_close_ms(self) -> int:
        """The watermark to which time advances the partition next.

        It closes the next pane; or some minutes of them, once the last windows with reports and the next one are
        closed: nobody hears of later ones before somebody reports. Other regions may wait for each.
        """
        window = self._collection.window
        next_ms = closes_at(self.panes_closed * window.pane_ms, window)
        if self._panes or self._watermark < self._all_said_ms or self._region:
            return next_ms
        return max(next_ms, self._watermark + SILENT_MS)

    def _all_said(self, closed_ms: int) -> int:
        """Return the watermark that closes all windows of a pane which one closes, and a next one of each series."""
        window = self._collection.window
        # A phase that an answer asks for is that of the next window.
        longest_ms = max(each.period_ms(window) or window.size_ms for each in self._collection.series)
        return closed_ms + window.size_ms - window.pane_ms + longest_ms

    @property
    def panes_closed(self) -> int:
        """Number of panes since 1970-01-01 UTC that it has closed; far below zero before its first batch."""
        return panes_closed(self._watermark, self._collection.window)

    @property
    def _last_close_ms(self) -> int:
        """The watermark that closes the last window which its newest report is part of."""
        window = self._collection.window
        if not self._panes and window.size_ms == window.pane_ms:
            return self._watermark  # They are closed, as an earlier owner may have seen to.
        # That window ends its length after the report's pane begins.
        return closes_at(pane_of(self._watermark_of_data, window) + window.size_ms - window.pane_ms, window)

    @property
    def nbytes(self) -> int:
        """Bytes in memory of the statistics that are sent whole."""
        return sum(pane.nbytes for pane in self._panes.values())

    @property
    def open_panes(self) -> int:
        """Number of panes that are open."""
        return len(self._panes)

    def count(
        self,
        offsets: Sequence[int] | NDArray[np.int64],
        appended_ms: Sequence[int] | NDArray[np.int64],
        records: Sequence[bytes],
        *,
        unreadable: Mapping[int, Rejected] = MappingProxyType({}),
    ) -> Counted:
        """Count records in log order.

        offsets: ascending, the first not below `position`.
        appended_ms: time at which the broker appended each, by its clock, in milliseconds since 1970-01-01 UTC.
        records: the value of each; anything if it could not even be read.
        unreadable: why not, by the index of the record.
        """
        window, layouts = self._collection.window, list(self._layouts.values())
        if self._end is not None:
            retired = Rejected(Reason.RETIRED, "the collection had been retired before it came")
            unreadable = {
                index: retired if offset >= self._end else unreadable[index]
                for index, offset in enumerate(offsets)
                if offset >= self._end or index in unreadable
            }
        if unreadable:
            records = [b"" if index in unreadable else record for index, record in enumerate(records)]
        decoded = wire.decode(records, formats=self._layouts)
        offset = np.asarray(offsets, dtype=np.int64)
        times = np.asarray(appended_ms, dtype=np.int64)
        latest = int(times.max())
        self.appended_ms = latest if self.appended_ms is None else max(self.appended_ms, latest)
        appended = times[decoded.accepted]
        timed = judge_times(decoded, appended, window=window, layouts=layouts, watermark_ms=self._watermark)
        verdicts = timed.verdicts
        self._add(layouts, decoded, timed, offsets=offset[decoded.accepted], appended_ms=appended)

        # Only now that all are counted: among records of many old rounds, none may be without its layout.
        _own, *rounds = self._layouts
        for oldest in rounds[:-MAX_LAYOUTS]:
            del self._layouts[oldest]

        if not self.finished:  # else nothing is accepted, and an advance holds whatever still comes
            self._watermark = self._watermark_of_data = timed.watermark_ms
            self._watermark_if_idle = NEVER
            self._silent_ms = 0.0
        news = offset >= self._news_from
        self.position = int(offset[-1]) + 1
        self._news_from = max(self._news_from, self.position)

        verdicts[~news[decoded.accepted]] = Verdict.OLD
        rejected = [(index, unreadable.get(index, why)) for index, why in decoded.rejected if news[index]]
        rejected += rejections(
            decoded,
            verdicts,
            window=window,
            limits=lambda place: pane_limits.at(self._checkpoint.limits, offsets[decoded.accepted[place]]),
        )
        return Counted(
            reports=int(decoded.counts[verdicts == Verdict.COUNTED].sum()),
            duplicates=int(decoded.counts[verdicts == Verdict.DUPLICATE].sum()),
            late=int(decoded.counts[verdicts == Verdict.LATE].sum()),
            implausible=int(_implausible(layouts, decoded)[verdicts == Verdict.COUNTED].sum()),
            rejected=sorted(rejected, key=lambda entry: entry[0]),
        )

    def _add(
        self,
        layouts: Sequence[Layout],
        decoded: wire.Decoded,
        timed: Timed,
        *,
        offsets: NDArray[np.int64],
        appended_ms: NDArray[np.int64],
    ) -> None:
        """Add the batches whose time is right to their panes; change the verdict on those that are not added."""
        verdicts, panes = timed.verdicts, timed.panes
        on_time = verdicts == Verdict.COUNTED
        hashes = self._hash(decoded.ids)
        for start in np.unique(panes[on_time]).tolist():
            members = np.flatnonzero(on_time & (panes == start))
            pane = self._panes.get(start)
            if pane is None:
                first = members[0]
                pane = self._panes[start] = OpenPane(
                    first_offset=int(offsets[first]),
                    first_ms=int(appended_ms[first]),
                    saves=self._save_records is not None,
                )
            for limits, some in pane_limits.spans(self._checkpoint.limits, offsets[members]):
                taken = members[some]
                verdicts[taken] = pane.admit(hashes[taken], decoded.counts[taken], limits=limits)
            fresh = np.zeros(len(panes), dtype=np.bool_)
            fresh[members] = verdicts[members] == Verdict.COUNTED
            for place, layout in enumerate(layouts):
                ours = decoded.formats == place
                new = ours & fresh
                if new.any():
                    pane.count(
                        layout,
                        _rows(decoded.rows[place], fresh[ours], decoded.counts[ours]),
                        counts=decoded.counts[new],
                        offsets=offsets[new],
                    )

    def observe_silence(self, elapsed_ms: float) -> bool:
        """Note that nothing came for another `elapsed_ms`, and return whether the partition counts as idle now.

        The reader adds up the times that it really waited. The difference of two clock readings would also count the
        time for which a worker was suspended, and make it take its partitions for idle.
        """
        self._silent_ms += elapsed_ms
        if self.finished:
            return not self.replaying
        idle_ms = self._collection.window.idle_timeout_ms
        return idle_ms is not None and self._silent_ms >= idle_ms and not self.replaying

    def interrupt_silence(self) -> None:
        """Note that nothing could be read: the wait for the idle timeout begins again."""
        self._silent_ms = 0.0

    def advance_idle(self, others_ms: int | None) -> None:
        """Let an idle partition stop holding windows open.

        Its watermark follows the furthest of the collection's other partitions. It also advances with the time since
        its last report, so that the last windows close when all partitions are silent. The advance takes effect with
        the next flush, which commits it, unless a record is counted before. It must not take effect sooner: were
        reports late by an advance that was never committed, the next owner would count other reports up to the same
        offset.

        others_ms: the furthest committed watermark of the other partitions, in milliseconds; None if there is none.
        """
        window = self._collection.window
        target = NEVER if others_ms is None else others_ms
        if self._watermark_of_data != NEVER and self.finished:
            # No time closes later windows: were the collection served again, what came meanwhile would be late.
            target = max(target, self._last_close_ms)
        elif self._watermark_of_data != NEVER and window.idle_timeout_ms is not None:
            time_ms = self._watermark_of_data + int(self._silent_ms) - window.idle_timeout_ms
            target = max(target, time_ms if time_ms >= self._next_close_ms else NEVER)
        # An advance that closes no pane is not worth a commit.
        if panes_closed(target, window) > panes_closed(self._watermark, window):
            self._watermark_if_idle = target

    def take_changes(self, *, room: Room | None = None) -> Changes | None:
        """Return what a flush has to write, or None if there is nothing, and drop the panes that it closes.

        room: what the flush has for large statistics that may wait; unlimited by default.

        The first flush of an ownership only claims the partition: it commits the last checkpoint again, with a
        generation of its own. An earlier owner that has not seen later idle advances may still write partials;
        the generation distinguishes them from those of the owner that closed the pane.

        Every write must succeed; otherwise this object must be replaced by one begun from the last checkpoint.
        """
        if not self._claimed:
            self._claimed = True
            # The owner before may have died between its commit and its watermark, so the watermark is written again.
            return Changes(records=[], checkpoint=self._checkpoint, watermark=self._watermark_of(self._checkpoint))
        if self.replaying:
            return None
        window = self._collection.window
        self._watermark = max(self._watermark, self._watermark_if_idle)
        closing = {start for start in self._panes if closes_at(start, window) <= self._watermark}
        saving = self._is_saving_due(closing)
        records = list(self._take_panes(closing, saving=saving, room=room))
        saved, place = self._save() if saving else ((), self._place())
        moved = self.watermark_ms != self._checkpoint.watermark_ms
        announced = moved and (
            self._announced_ms is None
            or panes_closed(self._watermark, window) > panes_closed(self._announced_ms, window)
            or self._watermark >= self._announced_ms + ANNOUNCE_MS
        )
        oldest = min((pane.first_offset for pane in self._panes.values()), default=self.position)
        checkpoint = replace(
            self._checkpoint,
            offset=oldest,
            position=self.position,
            appended_ms=self.appended_ms,
            watermark_ms=self.watermark_ms,
            watermark_generation=(self._checkpoint.generation if moved else self._checkpoint.watermark_generation),
            saved=place,
            limits=pane_limits.followed(
                self._checkpoint.limits, self._limits, since=max(self.position, self._log_end), oldest=oldest
            ),
        )
        if not records and checkpoint == self._checkpoint:
            return None
        self._checkpoint = checkpoint
        return Changes(
            records=records,
            checkpoint=checkpoint,
            watermark=self._watermark_of(checkpoint) if announced else None,
            saved=saved,
        )

    def _take_panes(self, closing: Container[int], *, saving: bool, room: Room | None) -> Iterator[PartialRecord]:
        """Yield what is to be written of each pane, and drop those that close, one after another.

        A partition that has been behind may have a day of panes at once: only what is written of them is kept.
        """
        window = self._collection.window
        for start in sorted(self._panes):
            pane = self._panes[start]
            for changed in pane.take_changed(closing=saving or start in closing, room=room):
                record = together(
                    Partial(
                        collection=self._collection.name,
                        fingerprint=self._fingerprint,
                        region=self._region,
                        partition=self._partition,
                        generation=self._checkpoint.generation,
                        pane_ms=start,
                        pane_length_ms=window.pane_ms,
                        of=of,
                        segment=segment,
                        end=self.position,
                        counts=counts,
                    )
                    for of, segments in changed.items()
                    for segment, counts in segments.items()
                )
                if self._save_records is not None:
                    for partial in record.parts:
                        pane.note_sent(partial.of, partial.segment, end=partial.end)
                yield record
            if start in closing:
                del self._panes[start]
                self._all_said_ms = max(self._all_said_ms, self._all_said(closes_at(start, window)))

    def _is_saving_due(self, closing: Container[int]) -> bool:
        """Decide whether the next owner would have too many records to read again."""
        if self._save_records is None:
            return False
        firsts = [pane.first_offset for start, pane in self._panes.items() if start not in closing]
        return bool(firsts) and self.position - max(min(firsts), self._saved_to) >= self._save_records

    def _save(self) -> tuple[list[Saved], SavedPlace]:
        """Return what the next owner needs of the open panes, and where that is."""
        source: dict[str, Any] = {
            "collection": self._collection.name,
            "fingerprint": self._fingerprint,
            "region": self._region,
            "partition": self._partition,
            "generation": self._checkpoint.generation,
        }
        saved = [
            pane.save(start, record=lambda hashes: Saved.of_hashes(hashes, **source))
            for start, pane in sorted(self._panes.items())
        ]
        listed = PanesList(
            file=file_digest(self._collection),
            offset=self.position,
            id_key=self._hash.key.hex(),
            panes=tuple(pane for _, pane in saved),
        )
        panes = Saved.of_panes(listed, **source)
        self._saved_to, self._saves = self.position, True
        since_ms = min(pane.first_ms for pane in self._panes.values())
        place = SavedPlace(digest=panes.digest, position=self.position, since_ms=since_ms)
        return [*(each for records, _ in saved for each in records), panes], place

    def _place(self) -> SavedPlace | None:
        """Return where open panes are saved, as of now; None if it is as good to read all their reports again."""
        place = self._checkpoint.saved
        if place is None or all(pane.first_offset >= self._saved_to for pane in self._panes.values()):
            return None
        # Of panes that another owner has saved, later partials are not his.
        return replace(place, position=self.position) if self._saves else place

    def _watermark_of(self, checkpoint: Checkpoint) -> Watermark | None:
        self._announced_ms = checkpoint.watermark_ms
        if checkpoint.watermark_ms is None:
            return None
        return Watermark(
            collection=self._collection.name,
            fingerprint=self._fingerprint,
            region=self._region,
            partition=self._partition,
            generation=checkpoint.watermark_generation,
            time_ms=checkpoint.watermark_ms,
            topic=checkpoint.topic,
            file=file_digest(self._collection) if self._region else "",
        )


def _implausible(layouts: Sequence[Layout], decoded: wire.Decoded) -> NDArray[np.bool_]:
    """Decide which batches do not look as those of honest clients do; bool, shape (batches,)."""
    implausible = np.zeros(len(decoded.formats), dtype=np.bool_)
    for place, layout in enumerate(layouts):
        ours = decoded.formats == place
        if ours.any():
            implausible[ours] = layout.implausible(decoded.rows[place], decoded.counts[ours])
    return implausible


def _rows(rows: NDArray[np.uint8], batches: NDArray[np.bool_], counts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Select the rows of some batches; `counts` is the number of rows of every batch."""
    return rows if batches.all() else rows[np.repeat(batches, counts)]
