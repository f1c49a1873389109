"""These commands print the state of a collection, and describe a record of one of its topics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aiokafka import TopicPartition

from stream_ldp.cli.arguments import CollectionOrName
from stream_ldp.cli.commands import example
from stream_ldp.cli.displays.answer_text import AnswerText
from stream_ldp.cli.echo import echo, echo_json
from stream_ldp.cli.failure import fail
from stream_ldp.cli.named import named_collections
from stream_ldp.cli.options import TOPICS, with_settings
from stream_ldp.cli.record_description import describe, time_text
from stream_ldp.kafka.offsets import bounds_of, read_record
from stream_ldp.kafka.round_log import RoundLog
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.partials import partition_of
from stream_ldp.quantity import quantity
from stream_ldp.service.preflight import preflight
from stream_ldp.service.state import CollectionState, SourceState, read_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.layout import Layout

app = typer.Typer(no_args_is_help=True, add_completion=False)

#: Settings of these commands: those of the workers whose state is printed.
SETTINGS = (*TOPICS, "group")

#: Most undecided windows that are listed one by one.
MAX_WINDOWS = 20

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.", show_default=False)]


@app.command(epilog=example("inspect collection survey.yaml"))
@with_settings(SETTINGS)
async def collection(file: CollectionOrName, *, as_json: AsJson = False, settings: Settings) -> None:
    """Tell how far a collection has come: partitions, lag, open windows, and its last final answers.

    It reads what workers have written, and neither disturbs nor needs a running one.
    """
    (known,) = (collections := await named_collections([file], settings=settings)).values()
    state = await read_state(settings, known, await preflight(settings, collections, served=False))
    if as_json:
        echo_json(json.dumps(_document(known, state), indent=2))
    else:
        echo(*_lines(known, state))


@app.command(epilog=example("inspect record survey.yaml --topic reports --offset -1"))
@with_settings(SETTINGS)
async def record(
    file: CollectionOrName,
    *,
    topic: Annotated[
        str,
        typer.Option(
            help="The topic, by its whole name or by its last part: reports, partials, rounds, dead-letters, "
            "collections, records, provisional, that of the final answers, or that with -rows.",
            show_default=False,
        ),
    ],
    partition: Annotated[
        int | None,
        typer.Option(min=0, help="The partition.", show_default="0; of partials, that of the collection"),
    ] = None,
    offset: Annotated[
        int, typer.Option(help="The offset; a negative one counts from the end, so that -1 is the newest record.")
    ] = -1,
    as_json: AsJson = False,
    settings: Settings,
) -> None:
    """Describe the record at an offset: its sender, its time, and whether it can be read.

    What reports say is not shown. Logs and alerts name the topic, the partition and the offset.
    """
    (known,) = (collections := await named_collections([file], settings=settings)).values()
    partitions = await preflight(settings, collections, served=False)
    full = _topic(settings, known, topic, list(partitions))
    names = settings.topic_names
    number = partition if partition is not None else 0
    if partition is None and full == names.partials:
        number = partition_of(known.name, partitions=partitions[full])
    if number >= partitions[full]:
        fail(f"--partition {number}: topic {full} has the partitions 0 to {partitions[full] - 1}", code=2)
    place = TopicPartition(full, number)
    begin, end = (await bounds_of(settings, [place]))[place]
    wanted = end + offset if offset < 0 else offset
    if not begin <= wanted < end:
        has = f"the offsets {begin} to {end - 1}" if begin < end else "no records"
        fail(f"--offset {offset}: {full} partition {number} has {has}")
    found = await read_record(settings, place, wanted, back_to=begin if offset < 0 else None)
    if found is None:
        fail(
            f"{full} partition {number} has no record at offset {wanted} or after it: only ends of transactions, or "
            "records that have been deleted"
        )
    suffix = full.removeprefix(f"{names.prefix}.").removeprefix(f"{known.name}.")
    what, said = describe(found, suffix, known, layouts=await _layouts(settings, known, found.value or b""))
    at = {
        "topic": full,
        "partition": number,
        "offset": found.offset,
        "written": time_text(found.timestamp),
    }
    if as_json:
        echo_json(json.dumps(at | {"what": what} | said, indent=2))
        return
    if found.offset > wanted:
        echo(f"offset {wanted} has no record, or it has been deleted by compaction; the next one is:")
    echo(f"{full} partition {number} offset {found.offset}, written {at['written']}: {what}")
    for name, part in said.items():
        text = ", ".join(map(str, part)) if isinstance(part, list) else part
        echo(f"  {name.replace('_', ' ')}: {text}")


def _lines(known: Collection, state: CollectionState) -> Iterator[str]:
    match state.members:
        case 0:
            workers = "no worker counts it now"
        case 1:
            workers = "1 worker counts it now"
        case _:
            workers = f"{state.members} workers count it now"
    behind = sum(each.behind for each in state.sources)
    until = (
        "not complete up to any time yet"
        if state.watermark_ms is None
        else f"complete up to {time_text(state.watermark_ms)}"
    )
    yield f"{known.name}: {workers}; still to be counted: {quantity(behind, 'record')}; {until}"
    for source in state.sources:
        yield f"  partition {source.number}: {_source(source)}"
    for window in state.undecided[:MAX_WINDOWS]:
        takes = "takes no more reports, and is due" if window.closed else "is open"
        yield f"  window {window.bounds} of {window.series} {takes}; {quantity(window.reports, 'report')} so far"
    if (more := len(state.undecided) - MAX_WINDOWS) > 0:
        yield f"  and {more:,} more windows without a final answer"
    for final in state.finals:
        yield f"  last final: {AnswerText.of(final).line()}"
    for unread in state.passed:
        yield f"  {'holds finals back' if unread in state.held else 'passed over'}: {unread}"
    if not state.finals:
        yield "  no final answer yet"


def _source(source: SourceState) -> str:
    log = f"offsets {source.begin} to {source.end}"
    if source.fault:
        return f"{log}; {source.fault}"
    if source.checkpoint is None:
        return f"{log}; nobody has committed anything"
    kept = source.checkpoint
    until = "no watermark" if kept.watermark_ms is None else f"complete up to {time_text(kept.watermark_ms)}"
    return (
        f"{log}; counted before {kept.position}, kept from {kept.offset} for open windows, {source.behind:,} behind; "
        f"{until}; generation {kept.generation}"
    )


def _document(known: Collection, state: CollectionState) -> dict[str, Any]:
    return {
        "collection": known.name,
        "members": state.members,
        "watermark": None if state.watermark_ms is None else time_text(state.watermark_ms),
        "partitions": [
            {
                "partition": source.number,
                "begin": source.begin,
                "end": source.end,
                "committed": None if source.checkpoint is None else source.checkpoint.offset,
                "position": None if source.checkpoint is None else source.checkpoint.position,
                "behind": source.behind,
            }
            for source in state.sources
        ],
        "undecided": [
            {"series": each.series, "window": str(each.bounds), "reports": each.reports, "closed": each.closed}
            for each in state.undecided
        ],
        "finals": [{"series": final.series, "window": str(final.window)} for final in state.finals],
        "passed_over": [str(each) for each in state.passed],
        "holding": [str(each) for each in state.held],
    }


def _topic(settings: Settings, known: Collection, given: str, topics: list[str]) -> str:
    for name in (given, f"{settings.topic_prefix}.{given}", f"{settings.topic_prefix}.{known.name}.{given}"):
        if name in topics:
            return name
    return fail(f"--topic {given}: {known.name} has no such topic; it has {', '.join(topics)}", code=2)


async def _layouts(settings: Settings, known: Collection, value: bytes) -> dict[bytes, Layout]:
    """Return the layouts of the collection's batches, and that of the round to which a batch reports."""
    kind = kind_of(known)
    first = kind.layout(known)
    layouts = {first.fingerprint: first}
    header = wire.Header.of(value)
    if kind.rounds is not None and header is not None and header.fingerprint not in layouts:
        rounds = RoundLog(known, kind.rounds, topic=settings.topic_names.rounds(known.name), settings=settings)
        await rounds.start()
        try:
            layouts |= {each.fingerprint: each for each in await rounds.layouts([header.fingerprint])}
        finally:
            await rounds.stop()
    return layouts
