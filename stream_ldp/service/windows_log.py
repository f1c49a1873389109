"""Read back, from the answers and partials topics, what the windows of a collection are rebuilt from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.unreadable import fault_of
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.merge_checkpoint import file_digest
from stream_ldp.pipeline.partials import partition_of
from stream_ldp.pipeline.problem import problem_of
from stream_ldp.pipeline.quarantine import NO_VALUE, LogEntry, Quarantine, Unread
from stream_ldp.pipeline.restoring import RestoredPanes, Restoring

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from aiokafka import ConsumerRecord

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.merging import Merge
    from stream_ldp.pipeline.saved_panes import SavedPlace

#: Milliseconds by which a worker's clock, which dates partials, may be behind that of the broker which dates reports;
#: what is further behind is not found, and the reports are read again.
CLOCKS_MS = 600_000


class AnswersLog:
    """The answers topic, from which a merge and its quarantine take note of the final answers.

    position: offset of the record that comes next.
    """

    def __init__(self, merge: Merge, quarantine: Quarantine, *, settings: Settings) -> None:
        """Begin with the oldest record."""
        self.position = 0
        self._read_to = 0
        self._merge = merge
        self._quarantine = quarantine
        self._settings = settings
        merge.expect(kind_of(merge.collection).layout(merge.collection))

    def begin(self, offset: int, *, read_to: int) -> None:
        """Begin at an offset, of a topic that had been read to a later one."""
        self.position, self._read_to = offset, read_to

    async def read(self) -> AsyncIterator[Unread]:
        """Read on to the end; yield what cannot be read."""
        topic = self._settings.topic_names.answers(self._merge.collection)
        async with LogReader(topic, settings=self._settings) as reader:
            if not await reader.seek(self.position, read_to=self._read_to):
                self._merge.skip_forgotten()
            async for record in reader.read_to_end():
                if (unread := self._take(record)) is not None:
                    yield unread
            self.position, self._read_to = await reader.position(), 0

    def _take(self, record: ConsumerRecord) -> Unread | None:
        """Take note of a record; return it if it cannot be read."""
        merge, collection = self._merge, self._merge.collection
        kind = kind_of(collection)
        answer, asked, why = None, None, fault_of(record) or NO_VALUE
        if record.value is not None:
            try:
                answer = kind.answer.from_record(record.value, record.headers)
                # What another collection asks is of no meaning here.
                if kind.rounds is not None and answer.final and answer.fingerprint == merge.fingerprint:
                    asked = kind.rounds.after(collection, answer)
            except Exception as error:  # noqa: BLE001  whatever is written there ends no reader
                answer, why = None, f"not an answer that this release can go on from: {problem_of(error)}"
        if answer is not None and not answer.final:
            answer, why = None, "a provisional answer, which belongs on a topic of its own"
        if answer is None:
            unread = _unread(record, why)
            if (place := self._quarantine.add_final(record.key, unread)) is not None:
                series, start_ms = place
                merge.skip(series, start_ms + collection.window.size_ms)
            return unread
        if answer.fingerprint != merge.fingerprint:
            return _unread(record, f"an answer of another collection, of fingerprint {answer.fingerprint}")
        merge.decide(answer, offset=record.offset)
        if answer.status is Status.ANSWERED:
            self._quarantine.note_final(answer.series, answer.window.start_ms)
        if kind.rounds is not None and asked is not None:
            merge.expect(kind.rounds.layout(collection, asked))
        return None


async def partials_log(
    name: str, *, settings: Settings, begin: int = 0, since_ms: int | None = None
) -> AsyncIterator[LogEntry]:
    """Yield the records of the partials topic that are about a collection, or may be.

    begin: offset to begin at, or before the oldest record for all.
    since_ms: begin, instead, with the first record of this time or later, milliseconds since 1970-01-01 UTC.
    """
    partition = partition_of(name, partitions=settings.partials_partitions)
    log = LogReader(settings.topic_names.partials, partition=partition, settings=settings)
    async with log.opened(since_ms=since_ms) as reader:
        if since_ms is None:
            await reader.seek(begin)
        async for record in reader.read_to_end():
            entry = LogEntry.read(
                *(record.topic, record.partition, record.offset),
                key=record.key,
                value=record.value,
                fault=fault_of(record),
            )
            if entry.collection in (None, name):
                yield entry


async def restored_panes(
    collection: Collection, places: Mapping[int, SavedPlace], *, settings: Settings
) -> dict[int, RestoredPanes]:
    """Read back the open panes that former owners of source partitions have saved, unless they are in doubt.

    places: by source partition, what its last commit says.

    Raises:
        KafkaError: the brokers cannot be asked.
    """
    if not places:
        return {}
    restoring = Restoring(
        places,
        fingerprint=collection.fingerprint.hex(),
        file=file_digest(collection),
        region=settings.region,
    )
    since_ms = max(0, min(place.since_ms for place in places.values()) - CLOCKS_MS)
    async for entry in partials_log(collection.name, settings=settings, since_ms=since_ms):
        if (said := entry.saved or entry.record) is not None:
            restoring.take(said)
    found = {partition: restoring.panes(partition) for partition in places}
    return {partition: panes for partition, panes in found.items() if panes is not None}


def _unread(record: ConsumerRecord, why: str) -> Unread:
    return Unread(topic=record.topic, partition=record.partition, offset=record.offset, why=why)
