"""One source partition, counted: records in log order become partials, a checkpoint and a watermark.

A pure state machine. What it holds of the open panes is a function of the log and of the idle advances that were
committed, so that after a crash another worker arrives at the same partials by reading again from the checkpoint.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.pipeline import wire
from stream_ldp.pipeline.partials import Partial, Watermark
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.pipeline.windows import closes_at, pane_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.collection import Collection, Window
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.statistics import Tally

__all__ = ["Changes", "Checkpoint", "Counted", "SourcePartition"]

#: Fingerprints that are remembered from one turn to the next: of more rounds than have open windows, and few enough
#: to look for each of them in every batch.
MAX_LAYOUTS = 16

#: Fields of a checkpoint by their keys in the metadata of a commit, where a generation is called an epoch.
_METADATA = {
    "epoch": "generation",
    "position": "position",
    "watermark_ms": "watermark_ms",
    "watermark_epoch": "watermark_generation",
}

_NEVER = int(np.iinfo(np.int64).min)  # a watermark before all time


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """What a commit remembers of a source partition.

    generation: number of the ownership that committed it; each has a higher one than those before it.
    offset: of the first report of the oldest open pane; reading begins here after a restart.
    position: all before this offset has been counted, and its refusals told; what is read again up to here is silent.
    watermark_ms: event time, in milliseconds; None before the first batch. Lateness after a restart is decided by it.
    watermark_generation: of the ownership that brought the watermark to where it stands.
    """

    generation: int
    offset: int
    position: int
    watermark_ms: int | None
    watermark_generation: int

    def metadata(self) -> str:
        """What goes beside the offset into the commit."""
        return json.dumps({key: getattr(self, name) for key, name in _METADATA.items()})

    def moved_to(self, beginning: int) -> Self:
        """The same, where the log now begins at `beginning` and what was before it is gone."""
        return replace(self, offset=beginning, position=max(self.position, beginning))

    @classmethod
    def parse(cls, offset: int, metadata: str) -> Self:
        """The inverse of `metadata`; without any, as an operator's reset of the group leaves it, all begins anew.

        Raises:
            ValueError: the commit was not made by this software.
        """
        if not metadata:
            return cls(generation=0, offset=offset, position=offset, watermark_ms=None, watermark_generation=0)
        try:
            fields = dict(json.loads(metadata))
            return cls(offset=offset, **{_METADATA[key]: value for key, value in fields.items()})
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"the commit at offset {offset} has metadata that no worker wrote: {metadata!r}"
            ) from error


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """What became of some records. Reports that were read before, in an earlier life, are not told again.

    reports: reports counted for the first time.
    duplicates: reports of batches that had been counted before.
    late: reports of batches whose pane had closed.
    implausible: batches, counted all the same, with more or fewer set bits than honest reports have.
    rejected: (index of the record, why) of every batch that was not counted, the late ones among them.
    """

    reports: int
    duplicates: int
    late: int
    implausible: int
    rejected: list[tuple[int, Rejected]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What a flush has to write, in this order: partials, then the checkpoint, then the watermark.

    The checkpoint is the fence: only a worker that still owns the partition can commit it, and no pane closes
    before its watermark is on the log.
    """

    partials: list[Partial]
    checkpoint: Checkpoint
    watermark: Watermark | None


class _Verdict(IntEnum):
    """What becomes of a batch that could be decoded."""

    COUNTED = 0
    DUPLICATE = 1
    AHEAD = 2  # of the broker's clock, out of reach
    BEHIND = 3  # it, out of reach
    CLOSED = 4  # the phase that it answers
    LATE = 5
    OLD = 6  # read again after a restart: what became of it has been told


@dataclass(kw_only=True, slots=True)
class _Pane:
    first_offset: int
    tallies: dict[bytes, dict[tuple[str, ...], Tally]] = field(default_factory=dict)
    batch_ids: set[bytes] = field(default_factory=set)


class SourcePartition:
    """The state of one source partition of one collection."""

    def __init__(
        self,
        collection: Collection,
        layout: Layout,
        *,
        partition: int,
        start: int = 0,
        checkpoint: Checkpoint | None = None,
        generation: int = 1,
    ) -> None:
        """Begin at `checkpoint`, or, where nothing was committed yet, at offset `start`.

        layout: of the batches under the collection's own fingerprint.
        generation: number of this ownership, unless the checkpoint's already is as high. The time of day serves
            well: it is beyond every ownership before, even where their commits have been deleted.
        """
        self._collection = collection
        self._fingerprint = collection.fingerprint.hex()
        self._layouts: dict[bytes, Layout] = {layout.fingerprint: layout}
        self._partition = partition
        self._panes: dict[int, _Pane] = {}
        self._checkpoint = (
            replace(checkpoint, generation=max(generation, checkpoint.generation + 1))
            if checkpoint
            else Checkpoint(
                generation=generation,
                offset=start,
                position=start,
                watermark_ms=None,
                watermark_generation=generation,
            )
        )
        self._claimed = False
        self._silent_ms = 0.0
        #: Offset of the record that is to be counted next.
        self.position = self._checkpoint.offset
        # What becomes of the records before this offset has been told.
        self._news_from = self._checkpoint.position
        self._watermark = _NEVER if self._checkpoint.watermark_ms is None else self._checkpoint.watermark_ms
        self._watermark_of_data = self._watermark
        self._watermark_if_idle = _NEVER

    @property
    def watermark_ms(self) -> int | None:
        """Event time that the partition has reached, in milliseconds; None before its first batch."""
        return None if self._watermark == _NEVER else self._watermark

    @property
    def replaying(self) -> bool:
        """Whether it still reads what an earlier owner had read; it says nothing until it has caught up."""
        return self.position < self._news_from

    def knows(self, fingerprint: bytes) -> bool:
        """Whether batches of a fingerprint can be counted."""
        return fingerprint in self._layouts

    def learn(self, layout: Layout) -> None:
        """Count batches of another fingerprint in the next records, and as long as not MAX_LAYOUTS others come."""
        self._layouts[layout.fingerprint] = layout

    @property
    def open_panes(self) -> int:
        """Number of panes that it holds counts of."""
        return len(self._panes)

    def count(self, offsets: Sequence[int], appended_ms: Sequence[int], records: Sequence[bytes]) -> Counted:
        """Count records in log order.

        offsets: ascending, the first not below `position`.
        appended_ms: when the broker appended each, by its clock.
        """
        window, layouts = self._collection.window, list(self._layouts.values())
        decoded = wire.decode(records, formats=self._layouts)
        offset = np.asarray(offsets, dtype=np.int64)
        appended = np.asarray(appended_ms, dtype=np.int64)[decoded.accepted]
        time = decoded.time_ms
        ahead, behind = time > appended + window.ahead_ms, time < appended - window.max_age_ms
        within_reach = ~(ahead | behind)

        # The clock of a producer that runs ahead moves its own reports, never the watermark of everyone's.
        reached = np.where(within_reach, np.minimum(time, appended), _NEVER)
        watermarks = np.maximum.accumulate(np.concatenate(([self._watermark], reached)))
        pane = pane_of(np.where(within_reach, time, 0), window)
        closed = ~_taken(layouts, decoded, pane)
        late = closes_at(pane, window) <= watermarks[:-1]
        # The first fault of a batch is the one that is told.
        verdicts = np.select(
            [ahead, behind, closed, late],
            [_Verdict.AHEAD, _Verdict.BEHIND, _Verdict.CLOSED, _Verdict.LATE],
            default=_Verdict.COUNTED,
        )
        duplicate = self._add(layouts, decoded, verdicts == _Verdict.COUNTED, pane, offset)
        verdicts[duplicate] = _Verdict.DUPLICATE

        # Only now: records that answer many old rounds must not make it forget the one that the next of them answers.
        _own, *learned = self._layouts
        for oldest in learned[:-MAX_LAYOUTS]:
            del self._layouts[oldest]

        self._watermark = self._watermark_of_data = int(watermarks[-1])
        self._watermark_if_idle = _NEVER
        self._silent_ms = 0.0
        news = offset >= self._news_from
        self.position = int(offset[-1]) + 1
        self._news_from = max(self._news_from, self.position)

        rejected = [(index, why) for index, why in decoded.rejected if news[index]]
        verdicts[~news[decoded.accepted]] = _Verdict.OLD
        for reason, verdict, rule in (
            (Reason.FUTURE_TIME, _Verdict.AHEAD, f"more than {window.ahead_ms} ms ahead of the broker's clock"),
            (Reason.PAST_TIME, _Verdict.BEHIND, f"more than {window.max_age_ms} ms behind the broker's clock"),
            (Reason.CLOSED_PHASE, _Verdict.CLOSED, "the phase that it answers is asked in another window"),
            (Reason.LATE, _Verdict.LATE, "its window had closed"),
        ):
            rejected += [
                (int(decoded.accepted[i]), Rejected(reason, f"event time {time[i]} ms: {rule}"))
                for i in np.flatnonzero(verdicts == verdict)
            ]
        return Counted(
            reports=int(decoded.counts[verdicts == _Verdict.COUNTED].sum()),
            duplicates=int(decoded.counts[verdicts == _Verdict.DUPLICATE].sum()),
            late=int(decoded.counts[verdicts == _Verdict.LATE].sum()),
            implausible=int(_implausible(layouts, decoded)[verdicts == _Verdict.COUNTED].sum()),
            rejected=sorted(rejected, key=lambda entry: entry[0]),
        )

    def _add(
        self,
        layouts: Sequence[Layout],
        decoded: wire.Decoded,
        on_time: NDArray[np.bool_],
        panes: NDArray[np.int64],
        offset: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Add the batches that are on time to their panes; tells which had been added before."""
        duplicate = np.zeros(len(panes), dtype=np.bool_)
        for start in np.unique(panes[on_time]).tolist():
            members = np.flatnonzero(on_time & (panes == start))
            pane = self._panes.get(start)
            if pane is None:
                pane = self._panes[start] = _Pane(first_offset=int(offset[decoded.accepted[members[0]]]))
            ids = [decoded.batch_ids[i] for i in members.tolist()]
            if len(set(ids)) < len(ids) or not pane.batch_ids.isdisjoint(ids):
                again = _repeats(ids, pane.batch_ids)
                duplicate[members[again]] = True
                members = members[~again]
            pane.batch_ids.update(ids)
            chosen = np.zeros(len(panes), dtype=np.bool_)
            chosen[members] = True
            for place, layout in enumerate(layouts):
                ours = decoded.formats == place
                if not chosen[ours].any():
                    continue
                if layout.fingerprint not in pane.tallies:
                    pane.tallies[layout.fingerprint] = layout.tallies()
                rows = _rows(decoded.rows[place], chosen[ours], decoded.counts[ours])
                layout.count(pane.tallies[layout.fingerprint], rows)
        return duplicate

    def observe_silence(self, elapsed_ms: float) -> bool:
        """Note that nothing came for another `elapsed_ms`; tells whether the partition counts as idle now.

        Time is added up from what the reader really waited, never taken from a clock's difference, so that a
        worker that was stopped does not wake up to idle partitions.
        """
        self._silent_ms += elapsed_ms
        idle_ms = self._collection.window.idle_timeout_ms
        return idle_ms is not None and self._silent_ms >= idle_ms and not self.replaying

    def interrupt_silence(self) -> None:
        """Note that nothing could have come: the wait for the idle timeout begins again."""
        self._silent_ms = 0.0

    def advance_idle(self, others_ms: int | None) -> None:
        """Let an idle partition stop holding windows open.

        It follows the furthest of the collection's other partitions, and its own clock ticks on from its last
        report, so that the last windows close when everyone has fallen silent. It takes effect with the next flush,
        whose commit makes it known, unless something is counted before: were reports judged late by an advance that
        was never committed, the next owner would count other reports up to the same offset.

        others_ms: the furthest committed watermark of the other partitions; None where there is none.
        """
        window = self._collection.window
        target = _NEVER if others_ms is None else others_ms
        if self._watermark_of_data != _NEVER and window.idle_timeout_ms is not None:
            target = max(target, self._watermark_of_data + int(self._silent_ms) - window.idle_timeout_ms)
        # A step that closes no pane is not worth a commit.
        if _panes_closed(target, window) > _panes_closed(self._watermark, window):
            self._watermark_if_idle = target

    def take_changes(self) -> Changes | None:
        """What a flush has to write, or None; closed panes are forgotten with it.

        The first flush of an ownership only claims the partition: it commits the last checkpoint again, under a
        generation of its own. What an owner of before writes on, which does not know of the idle advances since, can
        then be told from what the owner counted that closed the pane.

        Every write has to succeed, or this state must be dropped and begun again from the last checkpoint.
        """
        if not self._claimed:
            self._claimed = True
            # The owner before may have died between its commit and its watermark, so it is said again.
            return Changes(partials=[], checkpoint=self._checkpoint, watermark=self._watermark_of(self._checkpoint))
        if self.replaying:
            return None
        window = self._collection.window
        self._watermark = max(self._watermark, self._watermark_if_idle)
        closing = {start for start in self._panes if closes_at(start, window) <= self._watermark}
        partials = [
            Partial(
                collection=self._collection.name,
                fingerprint=self._fingerprint,
                partition=self._partition,
                generation=self._checkpoint.generation,
                pane_ms=start,
                pane_length_ms=window.pane_ms,
                of=of,
                segment=segment,
                end=self.position,
                counts=counts,
            )
            for start, pane in sorted(self._panes.items())
            for tallies in pane.tallies.values()
            for of, tally in tallies.items()
            for segment, counts in sorted(tally.take_changed(closing=start in closing).items())
        ]
        for start in closing:
            del self._panes[start]
        moved = self.watermark_ms != self._checkpoint.watermark_ms
        checkpoint = replace(
            self._checkpoint,
            offset=min((pane.first_offset for pane in self._panes.values()), default=self.position),
            position=self.position,
            watermark_ms=self.watermark_ms,
            watermark_generation=(self._checkpoint.generation if moved else self._checkpoint.watermark_generation),
        )
        if not partials and checkpoint == self._checkpoint:
            return None
        self._checkpoint = checkpoint
        return Changes(
            partials=partials, checkpoint=checkpoint, watermark=self._watermark_of(checkpoint) if moved else None
        )

    def _watermark_of(self, checkpoint: Checkpoint) -> Watermark | None:
        if checkpoint.watermark_ms is None:
            return None
        return Watermark(
            collection=self._collection.name,
            fingerprint=self._fingerprint,
            partition=self._partition,
            generation=checkpoint.watermark_generation,
            time_ms=checkpoint.watermark_ms,
        )


def _taken(layouts: Sequence[Layout], decoded: wire.Decoded, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which batches are of a fingerprint that may come in their pane."""
    taken = np.zeros(len(panes), dtype=np.bool_)
    for place, layout in enumerate(layouts):
        ours = decoded.formats == place
        if ours.any():
            taken[ours] = layout.takes(panes[ours])
    return taken


def _implausible(layouts: Sequence[Layout], decoded: wire.Decoded) -> NDArray[np.bool_]:
    implausible = np.zeros(len(decoded.formats), dtype=np.bool_)
    for place, layout in enumerate(layouts):
        ours = decoded.formats == place
        if ours.any():
            implausible[ours] = layout.implausible(decoded.rows[place], decoded.counts[ours])
    return implausible


def _rows(rows: NDArray[np.uint8], chosen: NDArray[np.bool_], counts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The rows of the chosen batches, of `counts` rows each."""
    return rows if chosen.all() else rows[np.repeat(chosen, counts)]


def _repeats(ids: Sequence[bytes], known: set[bytes]) -> NDArray[np.bool_]:
    seen = set(known)
    again = np.zeros(len(ids), dtype=np.bool_)
    for i, batch_id in enumerate(ids):
        again[i] = batch_id in seen
        seen.add(batch_id)
    return again


def _panes_closed(watermark_ms: int, window: Window) -> int:
    """Number of panes, since ever, that a watermark closes."""
    return (watermark_ms - window.grace_ms) // window.pane_ms
