"""These commands create the topics that collections need on a cluster, list them, and say who needs what on them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.arguments import CollectionFiles
from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import TOPICS, load_collections, with_settings
from stream_ldp.cli.running import run_operation
from stream_ldp.kafka.access import Role, access_rules
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.registry import NEW_NAME, Registration, read_registry, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import DAY_MS, ExistingTopic, TopicSpec, topic_specs
from stream_ldp.service.preflight import CHANGE_TOPIC, preflight

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_ldp.collection import Collection

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command()
@with_settings(TOPICS)
def create(
    files: CollectionFiles,
    *,
    partitions: Annotated[
        int | None, typer.Option(min=1, help="Partitions of each reports topic; at most so many workers share it.")
    ] = None,
    replication: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of brokers that hold each topic.", show_default="3, or all where there are fewer"
        ),
    ] = None,
    settings: Settings,
) -> None:
    """Create every topic that the collections need, and register the collections.

    The command can be run again at any time. It leaves an existing topic as it is, and fails if the topic is
    unsuitable. A registered collection may change its windows and estimates while no worker runs, but not the meaning
    of its reports.
    """
    run_operation(_create(settings, load_collections(files), partitions, replication))


@app.command(name="list")
@with_settings(TOPICS)
def list_(files: CollectionFiles, *, settings: Settings) -> None:
    """Show the topics that the collections need and those that exist; fail if a worker could not start with them."""
    run_operation(_list(settings, load_collections(files)))


@app.command()
@with_settings((*TOPICS, "group"))
def acls(
    files: CollectionFiles,
    *,
    role: Annotated[Role, typer.Option(help="What this user does.")],
    principal: Annotated[
        str, typer.Option(help="The user as the brokers know it, such as User:worker.", show_default=False)
    ],
    settings: Settings,
) -> None:
    """Print the commands that give a user the access rules that it needs for the collections, and no more.

    They are of Kafka's own kafka-acls.sh, for a cluster that refuses what no rule allows. Nothing is changed here.
    """
    collections = load_collections(files).values()
    for rule in access_rules(role, collections, settings=settings):
        words = ["kafka-acls.sh", "--bootstrap-server", settings.brokers, *rule.arguments(principal)]
        echo(shlex.join(words))


async def _create(
    settings: Settings, collections: Mapping[str, Collection], partitions: int | None, replication: int | None
) -> None:
    specs = _specs(settings, collections, partitions)
    async with Cluster.connect(settings) as cluster:
        existing = await cluster.topics([spec.name for spec in specs])
        registry = {}
        if settings.topic_names.collections in existing:
            registry = await read_registry(settings)
        wanted = [Registration.of(collection) for collection in collections.values()]
        conflicts = [
            registry[each.name].conflict(each)
            for each in wanted
            if each.name in registry and registry[each.name].fingerprint != each.fingerprint
        ]
        if conflicts:
            fail("\n".join([*conflicts, f"  -> {NEW_NAME}"]))
        for each in wanted:
            known = registry.get(each.name)
            if known not in (None, each) and await cluster.members(settings.group_names.ingest(each.name)):
                fail(
                    f"collection {each.name} has changed since it was registered, and workers of it are running: "
                    f"{known.differences(each)}\n  -> stop all of its workers first, or both versions would count"
                )
        missing = [spec for spec in specs if spec.name not in existing]
        await cluster.create(missing, replication=replication or await cluster.usual_replication())
    _show(specs, existing, absent="created")
    if problems := [what for spec in specs for what in spec.problems(existing)]:
        fail("\n".join([*problems, f"  -> {CHANGE_TOPIC}"]))
    await register(settings, [each for each in wanted if registry.get(each.name) != each])
    for each in wanted:
        echo(_registered(each, registry.get(each.name)))


async def _list(settings: Settings, collections: Mapping[str, Collection]) -> None:
    specs = _specs(settings, collections, None)
    async with Cluster.connect(settings) as cluster:
        existing = await cluster.topics([spec.name for spec in specs])
    _show(specs, existing, absent="missing")
    await preflight(settings, collections)


def _specs(
    settings: Settings, collections: Mapping[str, Collection], partitions: int | None
) -> tuple[TopicSpec, ...]:
    return topic_specs(
        collections.values(),
        prefix=settings.topic_prefix,
        partials_partitions=settings.partials_partitions,
        reports_partitions=partitions,
    )


def _registered(here: Registration, known: Registration | None) -> str:
    if known is None:
        return f"Collection {here.name} is registered, with fingerprint {here.fingerprint.hex()}."
    if known == here:
        return f"Collection {here.name} was registered already."
    return (
        f"Collection {here.name} is registered anew: {known.differences(here)}. "
        "Stop every worker that runs with the old file."
    )


def _show(specs: Sequence[TopicSpec], existing: Mapping[str, ExistingTopic], *, absent: str) -> None:
    table = Table(box=box.SIMPLE)
    table.add_column("topic", no_wrap=True)
    table.add_column("partitions", justify="right", no_wrap=True)
    table.add_column("policy", no_wrap=True)
    table.add_column("keeps", justify="right", no_wrap=True)
    table.add_column("state", overflow="fold")
    for spec in specs:
        state = absent
        if spec.name in existing:
            differences = spec.differences(existing[spec.name]).items()
            state = ", ".join(["exists", *(f"{name}={actual}" for name, (_, actual) in differences)])
        keeps = f"{int(spec.config['retention.ms']) / DAY_MS:g} d" if "retention.ms" in spec.config else "ever"
        table.add_row(spec.name, str(spec.partitions), spec.config["cleanup.policy"], keeps, state)
    print_whole(Console(highlight=False), table)
