"""What workers refuse of the reports of a simulation, as far as they have come when it ends."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from aiokafka.errors import KafkaError

from stream_ldp.cli.echo import echo
from stream_ldp.kafka.log import LogReader, existing_topics
from stream_ldp.pipeline.wire import Header
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings

#: Time without a dead letter after which no more are waited for, in milliseconds. A worker that keeps up refuses what
#: it reads within some hundred.
_QUIET_MS = 1_000


@asynccontextmanager
async def refusals_shown(collection: Collection, settings: Settings) -> AsyncIterator[None]:
    """Say at the end of a block how many reports of the collection workers have refused meanwhile, and why.

    Nothing is said to a user who may not read the dead letters, as most who report may not.
    """
    topic = settings.topic_names.dead_letters(collection.name)
    log = LogReader(topic, settings=settings, from_beginning=False)
    try:
        exists = topic in await existing_topics(settings)
        if exists:
            await log.start()
    except KafkaError:
        exists = False
    try:
        yield
        if exists:
            await _tell(log, collection)
    finally:
        await log.stop()


async def _tell(log: LogReader, collection: Collection) -> None:
    # Not imported above: a command of clients begins without the service.
    from stream_ldp.service.dead_letters import DeadLetter  # noqa: PLC0415

    refused: Counter[str] = Counter()
    with suppress(KafkaError):
        while records := await log.fetch(timeout_ms=_QUIET_MS):
            for record in records:
                try:
                    letter = DeadLetter.of(record)
                except ValueError:
                    continue  # `dead-letters list` says what it is
                header = None if letter.value is None else Header.of(letter.value)
                refused[letter.reason.value] += letter.count * (1 if header is None else header.count)
    if refused:
        each = ", ".join(f"{count:,} {reason}" for reason, count in refused.most_common())
        echo(
            f"workers have refused {quantity(refused.total(), 'report')} of {collection.name} meanwhile: {each}",
            f"  -> see them: stream-ldp dead-letters list {collection.name}",
            err=True,
        )
