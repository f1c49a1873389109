"""Publish the final answers of a collection, each exactly once, and the provisional ones on a topic of their own.

Each final is on the log once, although two workers may merge a collection at a time: one has been frozen, or they
serve different sets of collections and so are in different groups. A worker that has a final to publish takes the
answers topic if it is not its own, which shuts out all others, and reads what they have written: only a final that is
not there is published. Nothing else keeps them apart, and neither waits for the other to end.
"""

import asyncio
import logging

from stream_ldp.collection import Series
from stream_ldp.kafka.fenced_producer import ExclusiveWriter, Fenced
from stream_ldp.kafka.patience import patiently
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.tracing import span
from stream_ldp.pipeline.answer import Answer
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.quarantine import Quarantine
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.windows_log import AnswersLog

log = logging.getLogger(__name__)

#: Seconds that a worker which has been shut out leaves to the other for its final, doubled with each time in a row:
#: two that took the topic back at once would shut each other out forever.
YIELD_SECONDS = 0.5


class Finals:
    """The answers topic of one collection, on which each final is published once, by whichever worker."""

    def __init__(
        self, merge: Merge, quarantine: Quarantine, *, settings: Settings, writer: ExclusiveWriter, metrics: Metrics
    ) -> None:
        """Prepare for the collection of a merge, which takes note of all finals on the log.

        writer: writes the finals.
        """
        self._merge = merge
        self._answers = AnswersLog(merge, quarantine, settings=settings)
        self._writer = writer
        self._metrics = metrics
        self._name = merge.collection.name
        self._topic = settings.topic_names.answers(merge.collection)
        self._provisional_topic = settings.topic_names.provisional(merge.collection.name)
        self._outage_seconds = settings.outage_seconds

    def begin(self, offset: int, *, read_to: int) -> None:
        """Read from this offset on, before which there is nothing that the merge needs."""
        self._answers.begin(offset, read_to=read_to)

    async def read(self) -> None:
        """Take note of the final answers that have come on the log.

        Raises:
            KafkaError: the brokers cannot be asked.
        """
        passed_over = self._metrics.records_passed_over.labels(self._name, "answers")
        number, last = 0, None
        async for unread in self._answers.read():
            number, last = number + 1, unread
            passed_over.inc()
        if last is not None:
            log.warning("%s: answers that cannot be read are passed over: %d, the last %s", self._name, number, last)

    async def publish_once(self, series: Series, answer: Answer) -> int | None:
        """Publish a final answer unless it is on the log, and return its offset; None if it is there."""

        async def is_there() -> bool:
            await patiently(self.read, seconds=self._outage_seconds)
            return self._merge.has_decided(series, answer.window.end_ms)

        async def publish() -> int | None:
            if not self._writer.held:
                await self._writer.take()
                # The previous owner of the topic may have written to it until now, and cannot any more.
                if await is_there():
                    return None
            return await self._publish(answer, self._writer)

        shut_out = 0
        while self._writer.held or not await is_there():
            try:
                # After a failure the topic has to be taken again, and whether the answer is there is seen then.
                offset = await patiently(publish, seconds=self._outage_seconds)
            except Fenced:
                log.info(
                    "%s: another worker publishes its finals as well", self._name, extra={"collection": self._name}
                )
                await asyncio.sleep(YIELD_SECONDS * 2**shut_out)
                shut_out += 1
            else:
                if offset is None:
                    break
                self._answers.position = offset + 1
                return offset
        log.info(
            "%s/%s: another worker has published the final answer of %s", self._name, answer.series, answer.window
        )
        return None

    async def publish_provisional(self, answer: Answer, producer: Producer) -> None:
        """Publish a provisional answer, which the next one replaces: nothing is lost if it is there twice."""
        await self._publish(answer, producer)

    async def _publish(self, answer: Answer, writer: Producer | ExclusiveWriter) -> int:
        kind = "final" if answer.final else "provisional"
        with span("publish", collection=self._name, series=answer.series, kind=kind, window=str(answer.window)):
            topic = self._topic if answer.final else self._provisional_topic
            offset = await writer.write(Record.of(answer, topic=topic))
        self._metrics.merge.estimates_published.labels(self._name, kind).inc()
        return offset

    async def stop(self) -> None:
        """Disconnect."""
        await self._writer.stop()
