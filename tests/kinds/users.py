"""Users of any kind of collection: many who report and are answered, and one who reports as a client does."""

import asyncio
from typing import Any

from stream_ldp.client.reporter import Reporter
from stream_ldp.collection import Collection
from stream_ldp.kinds import kind_of
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.kind import RoundMessage
from stream_ldp.testing import KafkaInMemory

#: The beginning of a window, and of the first phase of an epoch, of all subjects.
START_MS = 1_700_000_040_000


async def play(kafka: KafkaInMemory, collection: Any, held: list[Any], *, seed: int = 1) -> list[Any]:
    """Let users report once to all that is asked, and return the final answers."""
    rounds = kind_of(collection).rounds
    if rounds is None:
        await report_once(kafka, collection, held, seed=seed)
        return kafka.close_windows()
    answers: list[Any] = []
    asked: Any = rounds.first(collection, epoch_at(collection, kafka.clock()))
    while asked is not None:
        kafka.broker.now_ms = max(kafka.clock(), asked.start_ms)
        await report_once(kafka, collection, held, seed=seed, asked=asked)
        answers += kafka.close_windows()
        asked = _next_round(kafka, collection, after=asked)
    return answers


async def report_once(
    kafka: KafkaInMemory, collection: Any, held: list[Any], *, seed: int = 1, asked: Any = None
) -> None:
    """Let users without secrets report, to a round where their kind has rounds: the first one unless it is given."""
    options: dict[str, Any] = {"settings": kafka.settings, "clock": kafka.clock, "entropy": SeededEntropy(seed)}
    rounds = kind_of(collection).rounds
    async with Reporter(collection, spread=False, **options) as reporter:
        if rounds is None:
            await reporter.report_many(held, secrets=None)
        else:
            asked = asked or rounds.first(collection, epoch_at(collection, kafka.clock()))
            await reporter.respondents(held, secrets=None).answer(asked)


async def report_as_one(
    kafka: KafkaInMemory, collection: Any, held: Any, *, secret: bytes, ledger: PrivacyLedger
) -> None:
    """Let one user report what is held: to the first phase that asks, where the kind has rounds."""
    options: dict[str, Any] = {"settings": kafka.settings, "clock": kafka.clock, "secret": secret, "ledger": ledger}
    reported = asyncio.Event()
    options |= {"spread": False, "on_report": lambda _: reported.set()}
    async with Reporter(collection, **options) as reporter:
        await reporter.report(held)
        if kind_of(collection).rounds is None:
            return
        waiting = asyncio.create_task(reported.wait())
        ended = asyncio.create_task(reporter.stopped())
        await asyncio.wait([waiting, ended], return_when=asyncio.FIRST_COMPLETED, timeout=5)
        for task in (waiting, ended):
            if not task.done():
                task.cancel()
        if ended.done() and not ended.cancelled():
            ended.result()


def rows_sent(kafka: KafkaInMemory, collection: Any) -> list[list[int]]:
    """Return the reports on the topic, in its order, as packed rows; every one must be good."""
    layout = kind_of(collection).layout(collection)
    decoded = wire.decode(kafka.batches(collection.name), formats={collection.fingerprint: layout})
    assert decoded.rejected == []
    return [row for rows in decoded.rows for row in rows.tolist()]


def epoch_at(collection: Any, time_ms: int) -> int:
    """Return the epoch whose first phase is asked then."""
    schedule = collection.schedule
    return int(time_ms // schedule.size_ms // schedule.stride)


def _next_round(kafka: KafkaInMemory, collection: Collection, *, after: RoundMessage) -> Any:
    """Return the round that was published after another; None if there is none."""
    rounds = kind_of(collection).rounds
    assert rounds is not None
    records = kafka.broker.available(kafka.settings.topic_names.rounds(collection.name))
    found = [rounds.read(collection, record.value) for record in records]
    return next((each for each in found if each.start_ms > after.start_ms), None)
