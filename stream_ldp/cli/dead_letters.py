"""These commands show the batches that workers refused, and send them again once the cause is mended."""

import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

import typer
from aiokafka import TopicPartition

from stream_ldp.cli.arguments import CollectionOrName
from stream_ldp.cli.commands import example
from stream_ldp.cli.echo import echo, echo_json
from stream_ldp.cli.failure import fail
from stream_ldp.cli.named import named_collections
from stream_ldp.cli.options import TOPICS, with_settings
from stream_ldp.cli.record_description import time_text
from stream_ldp.client.reporter import now_ms
from stream_ldp.collection import Collection
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.content_type import BATCH
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.windows import closes_at, pane_of
from stream_ldp.pipeline.wire import Header
from stream_ldp.quantity import quantity
from stream_ldp.service.dead_letters import DeadLetter
from stream_ldp.service.preflight import preflight

app = typer.Typer(no_args_is_help=True, add_completion=False)

#: Settings of these commands: the group's commits say which windows have closed.
SETTINGS = (*TOPICS, "group")

#: The most batches that are sent at once; each may have 1 MB.
CHUNK = 100


@app.command(name="list", epilog=example("dead-letters list survey.yaml"))
@with_settings(SETTINGS)
async def list_(
    file: CollectionOrName,
    *,
    reason: Annotated[
        list[Reason] | None, typer.Option(help="Show only this reason; may be repeated.", show_default="all")
    ] = None,
    newest: Annotated[int, typer.Option(min=0, help="Number of the newest letters to show.")] = 20,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each letter, and no sums.", show_default=False)
    ] = False,
    settings: Settings,
) -> None:
    """Count the dead letters by reason, and show the newest: when, why, and the place of what was refused.

    What a batch holds is not shown.
    """
    (collection,) = (collections := await named_collections([file], settings=settings)).values()
    await preflight(settings, collections, served=False)
    counts: Counter[Reason] = Counter()
    shown: deque[DeadLetter] = deque(maxlen=newest)
    async for letter in _letters(settings, collection, frozenset(reason or Reason)):
        counts[letter.reason] += letter.count
        shown.append(letter)
    if as_json:
        for letter in shown:
            echo_json(json.dumps(_fields(letter)))
        return
    each = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    echo(f"{collection.name}: {quantity(counts.total(), 'refused record')}{each and ': '}{each}")
    for letter in shown:
        more = f" and {quantity(letter.count - 1, 'more', 'more')}" if letter.count > 1 else ""
        place = f"{letter.topic} partition {letter.source_partition} offset {letter.source_offset}{more}"
        echo(f"{_time(letter.time_ms)}  {letter.reason}  {place}  {letter.detail}")


@app.command(epilog=example("dead-letters replay survey.yaml --reason retired"))
@with_settings(SETTINGS)
async def replay(
    file: CollectionOrName,
    *,
    reason: Annotated[
        list[Reason], typer.Option(help="Send the batches that were refused for this reason; may be repeated.")
    ],
    hopeless: Annotated[
        bool,
        typer.Option("--hopeless", help="Send those too that would be refused again: they become new dead letters."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing, and print what would be sent.")] = False,
    settings: Settings,
) -> None:
    """Send refused batches again, as the same bytes and to the same partition, once the cause is mended.

    Batches that cannot count any more, such as late ones, whose windows have closed, are not sent. The command can be
    run again: a batch that has been counted is not counted twice, since it has its batch id.
    """
    if incurable := [each for each in reason if not each.curable]:
        fail(
            f"--reason {', '.join(incurable)}: this is in the bytes of the batch, which would be refused again; "
            f"what can be mended is {', '.join(each for each in Reason if each.curable)}",
            code=2,
        )
    (collection,) = (collections := await named_collections([file], settings=settings)).values()
    topic = settings.topic_names.reports(collection.name)
    partitions = (await preflight(settings, collections))[topic]
    watermarks = await _watermarks(settings, collection, partitions)
    selection = _Selection(
        collection=collection, topic=topic, partitions=range(partitions), watermarks=watermarks, hopeless=hopeless
    )
    letters = _letters(settings, collection, frozenset(reason))
    chosen = (record async for each in letters if (record := selection.take(each)))
    if dry_run:
        async for _ in chosen:
            pass
    else:
        await _publish(chosen, settings)
    echo(
        f"{quantity(selection.batches, 'batch', 'batches')} of {quantity(selection.reports, 'report')} "
        f"{'would be sent' if dry_run else 'sent'} again to {topic}"
    )
    for why_not, count in selection.kept.most_common():
        echo(f"{count:,} not sent: {why_not}")


async def _publish(records: AsyncIterator[Record], settings: Settings) -> None:
    # Without idempotence, as clients send: repeats have the same batch id.
    producer = Producer(settings, idempotent=False)
    chunk: list[Record] = []
    try:
        await producer.start()
        async for record in records:
            chunk.append(record)
            if len(chunk) == CHUNK:
                await producer.publish(chunk)
                chunk.clear()
        await producer.publish(chunk)
    finally:
        await producer.stop()


@dataclass(kw_only=True, slots=True)
class _Selection:
    """The batches that are sent again, and those that are not.

    topic, partitions: the reports topic, and the numbers of its partitions.
    watermarks: by partition, in milliseconds.
    hopeless: whether to choose what would be refused again.
    kept: number of batches that are not sent, by why.
    """

    collection: Collection
    topic: str
    partitions: range
    watermarks: Mapping[int, int]
    hopeless: bool
    batches: int = 0
    reports: int = 0
    kept: Counter[str] = field(default_factory=Counter)

    def take(self, letter: DeadLetter) -> Record | None:
        """Return the record to send, or None."""
        if letter.topic != self.topic or letter.source_partition not in self.partitions:
            self.kept["not reports"] += 1
            return None
        if letter.value is None:
            self.kept["longer than a dead letter may be"] += 1
            return None
        header = Header.of(letter.value)
        watermark_ms = self.watermarks.get(letter.source_partition)
        why_not = _why_not(header, self.collection, watermark_ms=watermark_ms, now_ms=now_ms())
        if why_not is not None and not self.hopeless:
            self.kept[why_not] += 1
            return None
        self.batches += 1
        self.reports += header.count if header else 0
        key = header.batch_id if header else b""
        return Record(topic=self.topic, key=key, value=letter.value, partition=letter.source_partition, headers=BATCH)


async def _letters(
    settings: Settings, collection: Collection, reasons: frozenset[Reason]
) -> AsyncIterator[DeadLetter]:
    """Yield the dead letters of a collection, oldest first, each once."""
    topic = settings.topic_names.dead_letters(collection.name)
    seen: set[tuple[str, int, int]] = set()
    foreign = 0
    async with LogReader(topic, settings=settings) as log:
        async for record in log.read_to_end():
            try:
                letter = DeadLetter.of(record)
            except ValueError:
                foreign += 1
                continue
            if not letter.places <= seen:
                seen |= letter.places
                if letter.reason in reasons:
                    yield letter
    if foreign:
        echo(f"{quantity(foreign, 'record')} of {topic}: no dead letters", err=True)


async def _watermarks(settings: Settings, collection: Collection, partitions: int) -> Mapping[int, int]:
    """Return the watermarks that workers have committed, in milliseconds, by partition of the reports topic."""
    topic, group = settings.topic_names.reports(collection.name), settings.group_names.ingest
    async with Cluster.connect(settings) as cluster:
        commits = await cluster.commits(group, [TopicPartition(topic, number) for number in range(partitions)])
    checkpoints = {place.partition: Checkpoint.parse(offset, text) for place, (offset, text) in commits.items()}
    return {number: each.watermark_ms for number, each in checkpoints.items() if each.watermark_ms is not None}


def _why_not(header: Header | None, collection: Collection, *, watermark_ms: int | None, now_ms: int) -> str | None:
    """Say why a batch would be refused again; None if it may count."""
    window = collection.window
    if header is None:
        return "not batches of reports"
    if not collection.topics.rounds and header.fingerprint != collection.fingerprint:
        return "made with another collection file"
    if header.time_ms > now_ms + window.ahead_ms:
        return "too far in the future"
    if header.time_ms < now_ms - window.max_age_ms:
        return "older than max_age"
    if watermark_ms is not None and closes_at(pane_of(header.time_ms, window), window) <= watermark_ms:
        return "late: their windows have closed"
    return None


def _fields(letter: DeadLetter) -> dict[str, object]:
    header = None if letter.value is None else Header.of(letter.value)
    return {
        "offset": letter.offset,
        "time": _time(letter.time_ms),
        "reason": letter.reason,
        "detail": letter.detail,
        "topic": letter.topic,
        "source_partition": letter.source_partition,
        "source_offset": letter.source_offset,
        "count": letter.count,
        "bytes": letter.value_bytes,
        "event_time": None if header is None else header.time_ms,
        "fingerprint": None if header is None else header.fingerprint.hex(),
    }


def _time(time_ms: int) -> str:
    # The clock of a record is that of its writer.
    return time_text(time_ms // 1_000 * 1_000)
