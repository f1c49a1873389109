"""Adapt Faust's Kafka consumer to a worker that goes on whatever a record holds, and to records that come together.

What Faust does for a message takes as long as to read and merge ten partials. So all records of a partition that a
fetch brings are one message.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from itertools import islice
from time import monotonic
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport
from mode.threads import WorkerThread

from stream_ldp.kafka.decompression import MAX_EXPANDED_BYTES, turn_of
from stream_ldp.kafka.fetching import CannotParse, mend_aiokafka
from stream_ldp.kafka.unreadable import read_past

mend_aiokafka()

log = logging.getLogger(__name__)

#: What these Services log of their own lives is that of a library.
_LIBRARY = logging.getLogger("faust.worker")

#: The most records of one fetch.
MAX_RECORDS = 1_000

#: Seconds that the event loop may stand still for the end of the consumer's thread, which takes milliseconds.
THREAD_SECONDS = 0.5

#: Name of the header, of a message of Faust, that has the records for which it stands.
_RECORDS = "stream-ldp-records"


class _WorkerThread(WorkerThread):
    """The thread of the consumer, for whose end a stop does not wait without limit.

    The stop blocks the event loop of the process: what the thread still needs of it would never come, and a stopping
    worker would hang. The consumer has left its group before.
    """

    def __init__(self, service: Any, **options: Any) -> None:
        super().__init__(service, **options)
        # Nor does the end of the process wait for it.
        self.daemon = True

    def stop(self) -> None:
        if not self.is_stopped.wait(THREAD_SECONDS):
            log.debug("the thread of the merge's consumer ends by itself")


class _Thread(AIOKafkaConsumerThread):
    logger = _LIBRARY
    Worker = _WorkerThread

    async def _fetch_records(
        self, consumer: Any, active_partitions: Any, *arguments: Any, **options: Any
    ) -> Mapping[Any, list[Any]]:
        with turn_of(MAX_EXPANDED_BYTES):
            try:
                found = await super()._fetch_records(consumer, active_partitions, *arguments, **options)
            except CannotParse as error:
                partition = error.partition
                records = list(islice(await read_past(error, consumer), MAX_RECORDS))
            else:
                return {partition: [_together(records)] for partition, records in found.items() if records}
        if not records or partition not in self.assignment():
            return {}
        consumer.seek(partition, records[-1].offset + 1)
        return {partition: [_together(records)]}

    async def _commit(self, offsets: Mapping[Any, int]) -> bool:
        """Commit what is assigned; a failure is no crash, since windows are rebuilt from the log."""
        owned = self.assignment()
        commits = {TopicPartition(*place): offset for place, offset in offsets.items() if place in owned}
        try:
            await self._ensure_consumer().commit(commits)
        except KafkaError as error:
            log.debug("the positions of the merge are not committed: %r", error)
            return False
        now = monotonic()
        self.tp_last_committed_at.update(dict.fromkeys(commits, now))
        return True


class _Consumer(Consumer):
    logger = _LIBRARY

    @property
    def loop_of_thread(self) -> asyncio.AbstractEventLoop:
        """The event loop of its thread, in which it talks to the brokers."""
        return self._thread.thread_loop

    def _new_consumer_thread(self) -> _Thread:
        return _Thread(self, loop=self.loop, beacon=self.beacon)


class WorkerTransport(Transport):
    """Faust's transport to Kafka, with a consumer that passes over records that cannot be read."""

    Consumer = _Consumer


def _together(records: Sequence[Any]) -> Any:
    """Let the last of some records stand for all."""
    *_, last = records
    last.headers = ((_RECORDS, records),)
    return last


def records_of(message: Any) -> Sequence[Any]:
    """Return the records for which a message stands, in the order of their log; each as aiokafka has it."""
    records: Sequence[Any] = dict(message.headers)[_RECORDS]
    return records
