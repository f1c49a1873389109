"""The rounds of a collection, as a worker reads them: what a batch's fingerprint asks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.topics import rounds_kept_ms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.kind import RoundMessage, Rounds
    from stream_ldp.pipeline.layout import Layout

__all__ = ["RoundLog"]

log = logging.getLogger(__name__)


class RoundLog:
    """Reads a rounds topic as far as it goes, whenever it is asked.

    A client answers a round only after reading it here, so whoever finds an answer on the reports topic and then
    reads this log to its end finds its round: however often answers are read, the same ones have a round.
    """

    def __init__(
        self, collection: Collection, rounds: Rounds[Any, Any, Any], *, topic: str, settings: Settings
    ) -> None:
        """rounds: how the collection's kind asks them."""
        self._collection = collection
        self._asking = rounds
        self._kept_ms = rounds_kept_ms(collection.window)
        self._reader = LogReader(topic, settings=settings)
        # When each was written, and what it asks; the last that was written comes last.
        self._rounds: dict[bytes, tuple[int, RoundMessage]] = {}

    async def start(self) -> None:
        """Connect."""
        await self._reader.start()

    async def stop(self) -> None:
        """Disconnect."""
        await self._reader.stop()

    async def find(self, fingerprints: Iterable[bytes]) -> list[RoundMessage]:
        """The rounds whose answers carry these fingerprints, of those that have one.

        Raises:
            KafkaError: the brokers cannot be asked.
        """
        wanted = list(fingerprints)
        if any(fingerprint not in self._rounds for fingerprint in wanted):
            await self._catch_up()
        return [self._rounds[fingerprint][1] for fingerprint in wanted if fingerprint in self._rounds]

    async def layouts(self, fingerprints: Iterable[bytes]) -> list[Layout]:
        """Of the batches with these fingerprints, for those that answer a round; see `find`."""
        return [self._asking.layout(self._collection, asked) for asked in await self.find(fingerprints)]

    async def _catch_up(self) -> None:
        async for record in self._reader.read_to_end():
            try:
                asked = self._asking.read(self._collection, record.value or b"")
            except ValueError as error:
                log.warning("%s offset %d is not a round of ours: %s", record.topic, record.offset, error)
                continue
            self._rounds.pop(asked.fingerprint, None)
            self._rounds[asked.fingerprint] = record.timestamp, asked
            self._forget(before_ms=record.timestamp - self._kept_ms)

    def _forget(self, *, before_ms: int) -> None:
        """Drop what a worker that starts now would not find either."""
        for fingerprint, (written_ms, _) in list(self._rounds.items()):
            if written_ms >= before_ms:
                return
            del self._rounds[fingerprint]
