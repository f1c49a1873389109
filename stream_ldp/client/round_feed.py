"""Follow the rounds of a collection: first phases by the clock, later ones from the topic."""

from __future__ import annotations

import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from stream_ldp.client.errors import require_topic
from stream_ldp.kafka.connection import check_connection
from stream_ldp.kafka.log import LogReader
from stream_ldp.kinds import rounds_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings
    from stream_ldp.pipeline.kind import RoundMessage

log = logging.getLogger(__name__)

#: Longest time between two looks at the clock, in milliseconds: it may be set, and a machine that wakes from sleep
#: finds it changed.
LOOK_MS = 500

#: A report leaves at least so long before its window ends, in milliseconds, so that a slow disk or network does not
#: make it late; or one part in MARGIN_PART of the window where that is less.
MARGIN_MS = 500
MARGIN_PART = 10


def closes_ms(asked: RoundMessage) -> int:
    """Return the event time from which a round gets no more reports, in milliseconds since 1970-01-01 UTC."""
    return asked.end_ms - min(MARGIN_MS, (asked.end_ms - asked.start_ms) // MARGIN_PART)


class RoundFeed:
    """A round feed hands out the rounds that the collection asks now and those that it asks next.

    A round that has closed is passed over. One that the collection never asks (`RoundMessage.check`), or that begins
    more than a window from now, is refused: logged, counted, and never handed out.

    refused: number of records that were refused.
    """

    def __init__(self, collection: Collection, *, settings: Settings, clock: Callable[[], int]) -> None:
        """Prepare for one collection; its rounds come inside the `async with` block.

        clock: event time, in milliseconds since 1970-01-01 UTC.
        """
        self.refused = 0
        self._collection = collection
        self._rounds = rounds_of(collection)
        self._schedule = self._rounds.schedule(collection)
        self._settings = settings
        self._clock = clock
        self._topic = settings.topic_names.rounds(collection.name)
        self._reader = LogReader(self._topic, settings=settings)
        self._records: deque[Any] = deque()
        self._window_ms: int | None = None

    async def __aenter__(self) -> Self:
        """Connect and find the rounds that may be open.

        Raises:
            BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
            MissingTopic: the collection's rounds topic does not exist.
        """
        await check_connection(self._settings)
        await self._reader.start(
            check=partial(require_topic, self._topic, settings=self._settings), since_ms=self._open_since_ms()
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._reader.stop()

    async def next(self, *, until_ms: int | None = None) -> RoundMessage | None:
        """Return the next round that has not closed; None when the clock has reached `until_ms`.

        A round may come again, or come anew with other candidates, which then replace those before.

        Raises:
            KafkaError: the brokers cannot be asked.
        """
        while True:
            now_ms = self._clock()
            if until_ms is not None and now_ms >= until_ms:
                return None
            if (first := self._first_phase(now_ms)) is not None:
                return first
            if self._records:
                if (asked := self._read(self._records.popleft(), now_ms)) is not None:
                    return asked
                continue
            wait_ms = LOOK_MS if until_ms is None else min(LOOK_MS, until_ms - now_ms)
            self._records.extend(await self._reader.fetch(timeout_ms=wait_ms))

    def _first_phase(self, now_ms: int) -> RoundMessage | None:
        """Return the first round of the epoch that begins with the present window, once; None otherwise."""
        window_ms = now_ms - now_ms % self._schedule.size_ms
        if window_ms == self._window_ms:
            return None
        self._window_ms = window_ms
        epoch = self._schedule.epoch_at(window_ms, 1)
        return None if epoch is None else self._rounds.first(self._collection, epoch)

    def _read(self, record: Any, now_ms: int) -> RoundMessage | None:
        """Return the round of a record, or None for one that is over or refused."""
        try:
            asked: RoundMessage = self._rounds.message.from_bytes(record.value or b"")
            if closes_ms(asked) <= now_ms:
                return None
            asked.check(self._collection)
            self._check_beginning(asked, now_ms)
        except ValueError as error:
            self.refused += 1
            log.warning("%s offset %d gets no report: %s", self._topic, record.offset, error)
            return None
        return asked

    def _check_beginning(self, asked: RoundMessage, now_ms: int) -> None:
        if asked.start_ms > now_ms + self._schedule.size_ms:
            raise ValueError(f"begins at {asked.start_ms} ms, more than a window after now, {now_ms} ms")

    def _open_since_ms(self) -> int:
        """Return a time at or before the one at which the first round that may be open was published.

        A round is published after the previous window has ended: within the last window. One window more makes up for
        clocks that differ. The topic may hold rounds of weeks; older ones need not be read.
        """
        return self._clock() - 2 * self._schedule.size_ms
