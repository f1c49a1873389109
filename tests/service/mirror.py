"""A mirror of partials: what MirrorMaker does with them, as docs/operate/regions.md sets it up, in 30 lines."""

import asyncio
import contextlib
from typing import Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.content_type import STAYS


class Mirror:
    """A mirror copies a topic to the one of the same name, record by record, and goes on where it has committed.

    It commits after it has copied, so it copies some records twice when it begins again.
    """

    def __init__(self, topic: str, *, source: Settings, target: Settings) -> None:
        self._topic, self._source, self._target = topic, source, target

    async def __aenter__(self) -> Self:
        self._consumer = AIOKafkaConsumer(
            self._topic,
            **self._source.client_options(),
            group_id=f"mirror-{self._topic}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        self._producer = AIOKafkaProducer(**self._target.client_options(), acks="all")
        await self._consumer.start()
        await self._producer.start()
        self._task = asyncio.create_task(self._copy())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await self._consumer.stop()
        await self._producer.stop()

    async def _copy(self) -> None:
        while True:
            for place, records in (await self._consumer.getmany(timeout_ms=200)).items():
                copies = [
                    await self._producer.send(
                        self._topic,
                        record.value,
                        key=record.key,
                        partition=place.partition,
                        timestamp_ms=record.timestamp,
                        headers=list(record.headers),
                    )
                    for record in records
                    if STAYS not in record.headers
                ]
                await asyncio.gather(*copies)
            if self._consumer.assignment():
                await self._consumer.commit()
