"""The records that a merge cannot read, and whether they hide something that a final answer needs; and the windows
whose answer cannot be computed.

The partials and answers topics are written by workers alone, but a tool, a rollback or a damaged disk can leave
something else there. Most of it is passed over, since the rest of the log decides:

* what no worker has written, by its key, hides nothing, and neither do saved panes;
* a record is replaced by a later one with the same key;
* the generation that closes a pane has counted all of it, so what other owners wrote about the pane is not needed;
* windows with a final answer are never decided again, and a final answer is started from the one before it alone.

Whatever else cannot be read holds the finals of its collection back, until an operator releases it. So does a window
that can be read and makes its solver raise: another worker would fare no better, and other collections must go on.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from stream_ldp.pipeline.answer import WindowBounds, final_of
from stream_ldp.pipeline.newest_finals import kept_finals
from stream_ldp.pipeline.partials import (
    MergeRecord,
    PartialError,
    PartialKey,
    Watermark,
    decode,
    decode_key,
)
from stream_ldp.pipeline.region_watermarks import ForeignSource
from stream_ldp.pipeline.saved_panes import Saved

if TYPE_CHECKING:
    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint
    from stream_ldp.pipeline.merging import Merge
    from stream_ldp.pipeline.source import Source

#: What is wrong with a tombstone: compaction deletes the records with its key.
NO_VALUE = "it has no value: something has deleted the record with its key"


@dataclass(frozen=True, kw_only=True, slots=True)
class LogEntry:
    """A record of the partials topic.

    key, value: as they are on the log.
    fault: why the Kafka record could not be read whole; None if it could.
    record: what the value says; None if it cannot be read, or if no merge needs it.
    saved: what the value says, if that is for the next owner of a source partition and not for a merge.
    why: why it cannot be read.
    about: what the record is about, by its key; None for a key that no worker has written, or no merge needs.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    fault: str | None
    record: MergeRecord | None = field(compare=False)
    why: str | None = field(compare=False)
    about: PartialKey | None = field(compare=False)
    saved: Saved | None = field(compare=False, default=None)

    @classmethod
    def read(
        cls, topic: str, partition: int, offset: int, *, key: bytes | None, value: bytes | None, fault: str | None
    ) -> Self:
        """Decode a record as far as possible."""
        record, saved, why = None, None, None
        if value is None:
            why = fault or NO_VALUE
        else:
            try:
                found = decode(value)
                record, saved = (None, found) if isinstance(found, Saved) else (found, None)
            except PartialError as error:
                why = str(error)
        return cls(
            topic=topic,
            partition=partition,
            offset=offset,
            key=key,
            value=value,
            fault=fault,
            record=record,
            saved=saved,
            why=why,
            about=decode_key(key),
        )

    @property
    def collection(self) -> str | None:
        """Name of the collection that it is about; None if it does not say."""
        if (said := self.record or self.saved) is not None:
            return said.collection
        return None if self.about is None else self.about.collection

    def watermark_of(self, fingerprint: str) -> Watermark | None:
        """Return its watermark; None if it is a partial, or of another fingerprint."""
        found = self.record
        return found if isinstance(found, Watermark) and found.fingerprint == fingerprint else None

    @property
    def damaged(self) -> bool:
        """Whether nothing is known of the record, not even its key."""
        return self.key is None and self.value is None and self.fault is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """A record that could not be read or contradicts its collection.

    why: what is wrong with it.
    """

    topic: str
    partition: int
    offset: int
    why: str

    def __str__(self) -> str:
        return f"{self.topic} partition {self.partition} offset {self.offset}: {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unsolved:
    """A window whose answer could not be computed.

    topic, offset: place of the newest record of the partials topic that the answer depends on.
    series, window: whose answer it is.
    error: name of the exception's class.
    """

    topic: str
    offset: int
    series: str
    window: WindowBounds
    error: str

    def __str__(self) -> str:
        return f"{self.series} of {self.window}: {self.error}"


class Quarantine:
    """The unread records and the unsolved windows of one collection that hold its finals back."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        # By offset, in the partition of the partials topic that has the collection.
        self._partials: dict[int, tuple[LogEntry, Unread]] = {}
        # By offset in the answers topic: the series, the start of the window.
        self._finals: dict[int, tuple[str, int, Unread]] = {}
        # By series: the starts of the windows of its newest finals that can be read.
        self._newest: dict[str, list[int]] = defaultdict(list)
        # By source and generation: the name that the owner uses in keys.
        self._writers: dict[tuple[Source, int], str] = {}
        self._unsolved: Unsolved | None = None
        # By topic: the offset before which all is released.
        self._released: dict[str, int] = {}

    def apply(self, merge: Merge, entry: LogEntry) -> Unread | None:
        """Apply a record to the merge of its collection; return it if it cannot be read.

        Records have to come in the order of the log.
        """
        if entry.saved is not None:
            return None
        why = entry.why
        if entry.record is not None:
            try:
                merge.apply(entry.record, offset=entry.offset)
            except ForeignSource as error:
                return _unread(entry, str(error))
            except PartialError as error:
                why = str(error)
        if why is None:
            self._learn(entry)
            return None
        unread = _unread(entry, why)
        if entry.damaged or self._is_about(entry, merge):
            self._partials[entry.offset] = entry, unread
        return unread

    @staticmethod
    def _is_about(entry: LogEntry, merge: Merge) -> bool:
        """Decide whether a record with its key belongs to the merge."""
        if entry.about is None or not merge.has(entry.about.source):
            return False
        if entry.record is not None and entry.record.fingerprint != merge.fingerprint:
            return False
        return (entry.about.pane_ms or 0) % merge.collection.window.pane_ms == 0

    def _learn(self, entry: LogEntry) -> None:
        for offset, (other, _) in list(self._partials.items()):
            if other.key == entry.key and offset < entry.offset:
                del self._partials[offset]
        if entry.record is not None and entry.about is not None and entry.about.writer is not None:
            for part in entry.record.parts:
                self._writers[entry.about.source, part.generation] = entry.about.writer

    def note_final(self, series: str, start_ms: int) -> None:
        """Note that a final answer of the log can be read."""
        self._newest[series] = sorted({*self._newest[series], start_ms})[-kept_finals(self._collection) :]

    def add_final(self, key: bytes | None, unread: Unread) -> tuple[str, int] | None:
        """Add an answer that cannot be read; return its series and window, or None if no worker has written it."""
        place = final_of(key or b"")
        if place is not None:
            self._finals[unread.offset] = (*place, unread)
        return place

    def add_unsolved(self, unsolved: Unsolved) -> bool:
        """Hold the finals back since the next one could not be computed; return False if that has been released."""
        if unsolved.offset < self._released.get(unsolved.topic, 0):
            return False
        self._unsolved = unsolved
        return True

    def go_on(self) -> None:
        """Note that the window which could not be solved, if there is one, has been solved or passed over."""
        self._unsolved = None

    def unsolved(self, merge: Merge) -> Unsolved | None:
        """Return the window that holds the finals back; None once another record of it has come and may mend it."""
        held = self._unsolved
        if held is not None and merge.newest_offset(held.window.start_ms) != held.offset:
            self._unsolved = None
        return self._unsolved

    def bound(self, checkpoint: MergeCheckpoint | None) -> MergeCheckpoint | None:
        """Move the checkpoint of a merge back to the first record that may hold finals back."""
        if checkpoint is None:
            return None
        finals = [offset for offset, (series, start_ms, _) in self._finals.items() if self._matters(series, start_ms)]
        return replace(
            checkpoint,
            answers=min([checkpoint.answers, *finals]),
            partials=min([checkpoint.partials, *self._partials]),
        )

    def _matters(self, series: str, start_ms: int) -> bool:
        """Decide whether the final of a window that cannot be read is one of those that the next depends on.

        It is, as long as fewer later ones of its series can be read than a merge keeps.
        """
        return sum(each > start_ms for each in self._newest[series]) < kept_finals(self._collection)

    def release(self, topic: str, before: int) -> None:
        """Pass over the records of a topic before an offset, whatever they hide, and windows made of them alone."""
        self._released[topic] = max(before, self._released.get(topic, 0))
        if self._unsolved is not None and self._unsolved.topic == topic and self._unsolved.offset < before:
            self._unsolved = None
        self._partials = {
            offset: (entry, unread)
            for offset, (entry, unread) in self._partials.items()
            if unread.topic != topic or offset >= before
        }
        self._finals = {
            offset: final for offset, final in self._finals.items() if final[2].topic != topic or offset >= before
        }

    def holding(self, merge: Merge) -> list[Unread]:
        """List the records that hold the finals of the collection back."""
        if not self._partials and not self._finals:
            return []
        for offset, (entry, _) in list(self._partials.items()):
            about = entry.about
            if about is not None and about.pane_ms is not None and merge.is_decided(about.pane_ms):
                del self._partials[offset]
        held = [unread for entry, unread in self._partials.values() if self._hides(entry, merge)]
        held += [unread for series, start_ms, unread in self._finals.values() if self._matters(series, start_ms)]
        return held

    def _hides(self, entry: LogEntry, merge: Merge) -> bool:
        about = entry.about
        if about is None:
            return True
        if about.pane_ms is None:
            return merge.needs_watermark(about.source, about.generation or 0)
        closed_by = merge.closed_by(about.source, about.pane_ms)
        if closed_by is None:
            return False  # More of it may come.
        return self._writers.get((about.source, closed_by), about.writer) == about.writer


def _unread(entry: LogEntry, why: str) -> Unread:
    return Unread(topic=entry.topic, partition=entry.partition, offset=entry.offset, why=why)
