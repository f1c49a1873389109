"""These commands delete what collections have left behind, and let one be counted again from an earlier time.

Each prints exactly what it would do, and does it only with --yes.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer
from aiokafka import TopicPartition

from stream_ldp.cli.arguments import CollectionFile, time_option
from stream_ldp.cli.commands import example
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import TOPICS, load_collections, with_settings
from stream_ldp.collection import Collection
from stream_ldp.collection.collection import DAY_MS
from stream_ldp.kafka.cluster import REFUSED_WHILE_MEMBERS, Cluster
from stream_ldp.kafka.offsets import offsets_since
from stream_ldp.kafka.registry_log import read_registry
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import load_collection
from stream_ldp.pipeline.answer import moment
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.quantity import quantity
from stream_ldp.service.groups import groups_left_behind
from stream_ldp.service.preflight import preflight
from stream_ldp.service.state import CollectionState, SourceState, read_state

app = typer.Typer(no_args_is_help=True, add_completion=False)

#: Settings of these commands: those of the workers whose groups they change.
SETTINGS = (*TOPICS, "group")

Yes = Annotated[
    bool, typer.Option("--yes", help="Do it; without it, only print what would be done.", show_default=False)
]


@app.command(epilog=example("reset groups"))
@with_settings(SETTINGS)
async def groups(*, yes: Yes = False, settings: Settings) -> None:
    """Delete the consumer groups of workers whose collections are not registered.

    Only groups under the workers' own prefix that have no member are deleted, with the positions that they hold.
    """
    async with Cluster.connect(settings) as cluster:
        if settings.topic_names.collections not in await cluster.topics([settings.topic_names.collections]):
            fail(
                f"there is no registry {settings.topic_names.collections} to find which groups were left behind\n"
                "  -> check --topic-prefix"
            )
        left = await groups_left_behind(cluster, settings, set(await read_registry(settings)))
        for name in left:
            echo(f"{'deletes' if yes else 'would delete'} group {name}, which has no member")
            if yes:
                await cluster.delete_group(name)
    if not left:
        echo(f"no group under {settings.group}. was left behind")
    elif not yes:
        _tell_dry()


@app.command(epilog=example("reset position survey.yaml --since 1d"))
@with_settings(SETTINGS)
async def position(
    file: CollectionFile,
    *,
    since: Annotated[
        datetime,
        typer.Option(
            parser=time_option,
            metavar="TIME",
            help="Count again all windows that begin then or later and have no final answer yet; ISO 8601, UTC "
            "unless it says otherwise.",
            show_default=False,
        ),
    ],
    yes: Yes = False,
    settings: Settings,
) -> None:
    """Let the next worker of a collection read its reports again from an earlier time.

    No report counts twice: what is counted again replaces what was counted. Final answers that are published stay as
    they are; `replay` computes one again beside it. No worker may be running: the group that counts takes no commit
    from outside meanwhile.
    """
    (known,) = (collections := load_collections([file])).values()
    partitions = await preflight(settings, collections)
    state = await read_state(settings, known, partitions)
    _require_no_members(known, state.members)
    topic, group = settings.topic_names.reports(known.name), settings.group_names.ingest
    begins_ms = _first_window(known, int(since.timestamp() * 1_000))
    places = [TopicPartition(topic, each.number) for each in state.sources]
    # A client's clock may be ahead of the broker's, whose time says where a report is.
    found = await offsets_since(settings, dict.fromkeys(places, begins_ms - known.window.ahead_ms))
    echo(f"{known.name}: {'counts' if yes else 'would count'} again from {moment(begins_ms)}:")
    for source, place in zip(state.sources, places, strict=True):
        echo(f"  partition {source.number}: {_move(source, found[place])}")
    skips = any(_skips(source, found[place]) for source, place in zip(state.sources, places, strict=True))
    for sentence in _consequences(state, begins_ms, skips=skips):
        echo(f"  {sentence}")
    if not yes:
        _tell_dry()
        return
    async with Cluster.connect(settings) as cluster:
        try:
            # Without metadata: the next owner begins anew there.
            await cluster.commit(group, {place: (offset, "") for place, offset in found.items()})
        except REFUSED_WHILE_MEMBERS:
            fail(
                f"group {group} has members that count other collections, and takes no such commit from outside\n"
                "  -> stop all workers first; reports wait on the log meanwhile"
            )
    echo("  done: start a worker")


@app.command(epilog=example("reset topics survey.yaml"))
@with_settings(SETTINGS)
async def topics(file: CollectionFile, *, yes: Yes = False, settings: Settings) -> None:
    """Delete the topics of a collection, with its reports and answers, and its groups.

    The name stays in the registry, and its partial counts stay on the shared topic until they expire. No worker of
    the collection may be running.
    """
    known = load_collection(file)
    specs = topic_specs([known], prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions)
    shared = {settings.topic_names.partials, settings.topic_names.collections}
    own = [spec.name for spec in specs if spec.name not in shared]
    async with Cluster.connect(settings) as cluster:
        counting = settings.group_names.ingest, settings.topic_names.reports(known.name)
        _require_no_members(known, await cluster.members(counting[0], of=counting[1]))
        described = await cluster.topics(own)
        existing = [name for name in own if name in described]
        present = set(await cluster.groups())
        owned = [name for name in settings.group_names.of(known.name) if name in present]
        for name in existing:
            echo(f"{'deletes' if yes else 'would delete'} topic {name}, and all that it holds, permanently")
        for name in owned:
            echo(f"{'deletes' if yes else 'would delete'} group {name}")
        if yes:
            # Groups first: a worker that starts in between finds its topics, and does not go on in the middle.
            for name in owned:
                await cluster.delete_group(name)
            await cluster.delete_topics(existing)
    if not existing and not owned:
        echo(f"{known.name} has no topics and no groups")
        return
    (partials,) = (spec for spec in specs if spec.name == settings.topic_names.partials)
    days = int(partials.config["retention.ms"]) / DAY_MS
    echo(
        f"stays: its name in {settings.topic_names.collections}, whose meaning is permanent",
        f"stays: its partial counts in {settings.topic_names.partials}, for {days:g} days, from which a worker of "
        "this name would answer windows again: give a new collection a new name",
    )
    if not yes:
        _tell_dry()


def _require_no_members(known: Collection, members: int) -> None:
    if members:
        fail(
            f"{known.name}: running workers: {members}\n"
            "  -> stop them first; a killed one leaves its group when its session ends, within seconds"
        )


def _first_window(known: Collection, since_ms: int) -> int:
    """Return the start of the first pane that is complete if reports are read from a time on."""
    pane = pane_of(since_ms, known.window)
    return pane if pane == since_ms else pane + known.window.pane_ms


def _move(source: SourceState, offset: int) -> str:
    if source.checkpoint is None:
        return f"from offset {offset}; nobody has committed anything"
    before, position = source.checkpoint.offset, source.checkpoint.position
    what = (
        f"{quantity(offset - before, 'record')} passed over"
        if _skips(source, offset)
        else f"{quantity(max(0, position - offset), 'record')} again"
    )
    return f"from offset {offset}, instead of {before}: {what}"


def _skips(source: SourceState, offset: int) -> bool:
    return source.checkpoint is not None and offset > source.checkpoint.offset


def _consequences(state: CollectionState, begins_ms: int, *, skips: bool) -> Iterator[str]:
    """Say what becomes of the windows that a collection has.

    skips: whether records are passed over that are not counted yet.
    """
    if skips and state.undecided:
        first, number = state.undecided[0].bounds.start_ms, len(state.undecided)
        yield f"{number} windows from {moment(first)} on have no final answer yet, and lack the records passed over"
    ends_ms = max((final.window.end_ms for final in state.finals), default=begins_ms)
    if ends_ms > begins_ms:
        yield f"final answers of windows up to {moment(ends_ms)} are published, and stay as they are"


def _tell_dry() -> None:
    echo("nothing has been changed: add --yes to do it")
