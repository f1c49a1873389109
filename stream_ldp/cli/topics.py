"""These commands create the topics that collections need on a cluster, list them, and say who needs what on them."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.arguments import CollectionFiles
from stream_ldp.cli.commands import example
from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import TOPICS, load_collections, with_settings
from stream_ldp.collection import Collection, CollectionError
from stream_ldp.collection.collection import DAY_MS
from stream_ldp.kafka.access import Role, access_rules
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.registry import NEW_NAME, Registration, register
from stream_ldp.kafka.registry_log import RegistryLog, read_registry_log
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import ExistingTopic, TopicSpec, topic_specs
from stream_ldp.kinds import collection_of_document
from stream_ldp.printable import printable
from stream_ldp.service.pausing import StillServed, paused, retirement_now
from stream_ldp.service.preflight import CHANGE_TOPIC, preflight

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command(epilog=example("topics create survey.yaml films.yaml"))
@with_settings((*TOPICS, "group"))
async def create(
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
    unsuitable. A registered collection may change its windows and estimates, but not the meaning of its reports:
    workers without a file pause it meanwhile, others have to be stopped first. One that is retired is served again.
    """
    collections = load_collections(files)
    specs = _specs(settings, collections, partitions)
    async with Cluster.connect(settings) as cluster:
        existing = await cluster.topics([spec.name for spec in specs])
        registry, spoilt = {}, {}
        if settings.topic_names.collections in existing:
            log = await read_registry_log(settings)
            registry, spoilt = log.registered, log.unreadable
        wanted = [Registration.of(collection) for collection in collections.values()]
        conflicts = [
            registry[each.name].conflict(each)
            for each in wanted
            if each.name in registry and registry[each.name].fingerprint != each.fingerprint
        ]
        if conflicts:
            fail("\n".join([*conflicts, f"  -> {NEW_NAME}"]))
        missing = [spec for spec in specs if spec.name not in existing]
        await cluster.create(missing, replication=replication or await cluster.usual_replication())
        _show(specs, existing, absent="created")
        if problems := [what for spec in specs for what in spec.problems(existing)]:
            fail("\n".join([*problems, f"  -> {CHANGE_TOPIC}"]))
        await register(settings, [each for each in wanted if each.name not in registry or each.name in spoilt])
        for each, collection in zip(wanted, collections.values(), strict=True):
            known = registry.get(each.name)
            if known not in (None, each):
                try:
                    async with paused(cluster, settings, known, collection):
                        await register(settings, [each])
                except StillServed as error:
                    what = f"collection {each.name} has changed since it was registered: {known.differences(each)}"
                    fail(f"{what}\n{error}")
            echo(_registered(each, None if each.name in spoilt else known))


@app.command(name="list", epilog=example("topics list survey.yaml"))
@with_settings(TOPICS)
async def list_(files: CollectionFiles, *, settings: Settings) -> None:
    """Show the topics that the collections need and those that exist; fail if a worker could not start with them."""
    collections = load_collections(files)
    specs = _specs(settings, collections, None)
    async with Cluster.connect(settings) as cluster:
        existing = await cluster.topics([spec.name for spec in specs])
    _show(specs, existing, absent="missing")
    await preflight(settings, collections)


@app.command(epilog=example("topics retire care-survey"))
@with_settings((*TOPICS, "group"))
async def retire(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of collections that are registered.")],
    *,
    settings: Settings,
) -> None:
    """Retire collections: open windows are answered at once, and what clients still report does not count.

    It becomes dead letters, of reason `retired`. Topics and answers stay; `topics create` has a collection served
    again, and then `dead-letters replay` sends the letters again. A name whose registration this release cannot read,
    so that its workers cannot serve it, is removed from the registry.
    """
    log = await read_registry_log(settings)
    registry, spoilt = log.registered, _unservable(log)
    if unknown := [name for name in names if name not in registry and name not in spoilt]:
        fail(f"not registered: {', '.join(unknown)}\n  -> see what is: stream-ldp topics registry {settings.flags()}")
    await register(settings, [], removed=[name for name in names if name in spoilt])
    for name in names:
        if name in spoilt:
            echo(f"{printable(name)} is removed from the registry, since this release cannot read it: {spoilt[name]}")
    async with Cluster.connect(settings) as cluster:
        for known in (registry[name] for name in names if name not in spoilt):
            if known.retirement is not None and not known.paused:
                echo(f"Collection {known.name} was retired already.")
                continue
            collection = collection_of_document(known.document, source=f"registration of {known.name}")
            async with paused(cluster, settings, known, collection):
                retirement = await retirement_now(cluster, settings, known.name)
                await register(settings, [replace(known, paused=False, retirement=retirement)])
            echo(f"Collection {known.name} is retired: what is reported from now on becomes dead letters.")


@app.command(epilog=example("topics registry"))
@with_settings(TOPICS)
async def registry(*, settings: Settings) -> None:
    """Show the collections that are registered, and whether they are served."""
    log = await read_registry_log(settings)
    found, spoilt = log.registered, _unservable(log)
    table = Table(box=box.SIMPLE)
    table.add_column("collection", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("fingerprint", no_wrap=True)
    for name in sorted({*found, *spoilt}):
        state = "unreadable" if name in spoilt else found[name].state
        table.add_row(printable(name), state, found[name].fingerprint.hex() if name in found else "")
    print_whole(Console(highlight=False), table)
    for name, why in sorted(spoilt.items()):
        cure = f"replace it: stream-ldp topics create FILE; or remove it: stream-ldp topics retire {printable(name)}"
        echo(f"{printable(name)}: {why}\n  -> {cure}")


@app.command(epilog=example("topics acls survey.yaml --role worker --principal User:worker"))
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


def _unservable(log: RegistryLog) -> dict[str, str]:
    """Return why registrations cannot be served by this release, by name."""
    found = dict(log.unreadable)
    for name, each in log.registered.items():
        try:
            collection_of_document(each.document, source=f"registration of {printable(name)}")
        except CollectionError as error:
            found[name] = str(error)
    return found


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
    if known.document == here.document:
        return f"Collection {here.name} was {known.state}, and is served again."
    return f"Collection {here.name} is registered anew: {known.differences(here)}."


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
