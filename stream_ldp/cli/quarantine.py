"""These commands show what holds final answers back, and let them go on without it."""

from typing import Annotated

import typer

from stream_ldp.cli.arguments import CollectionsOrNames
from stream_ldp.cli.commands import example
from stream_ldp.cli.echo import echo
from stream_ldp.cli.named import named_collections
from stream_ldp.cli.options import TOPICS, with_settings
from stream_ldp.kafka.releases import release as release_all
from stream_ldp.kafka.settings import Settings
from stream_ldp.service.preflight import preflight
from stream_ldp.service.state import read_windows

app = typer.Typer(no_args_is_help=True, add_completion=False)

#: Settings of these commands: those of the workers that hold finals back.
SETTINGS = (*TOPICS, "group")


@app.command(name="list", epilog=example("quarantine list survey.yaml"))
@with_settings(SETTINGS)
async def list_(files: CollectionsOrNames, *, settings: Settings) -> None:
    """List the records of the partials and answers topics that cannot be read, and those that hold finals back."""
    collections = await named_collections(files, settings=settings)
    partitions = await preflight(settings, collections, served=False)
    for collection in collections.values():
        _, passed, held = await read_windows(settings, collection, partitions)
        for unread in passed:
            echo(f"{collection.name}: {'holds finals back' if unread in held else 'passed over'}: {unread}")
        if not passed:
            echo(f"{collection.name}: every record can be read")


@app.command(epilog=example("quarantine release survey.yaml"))
@with_settings(SETTINGS)
async def release(
    files: CollectionsOrNames,
    *,
    unsolved: Annotated[
        bool,
        typer.Option(
            "--unsolved",
            help="Release windows as well whose answer a worker cannot compute, as its log and /readyz say: they get "
            "none.",
        ),
    ] = False,
    settings: Settings,
) -> None:
    """Let the finals of the collections go on without the records that hold them back.

    The finals may then lack reports. Running workers go on within seconds; nothing has to be started again.
    """
    collections = await named_collections(files, settings=settings)
    partitions = await preflight(settings, collections)
    for collection in collections.values():
        _, _, held = await read_windows(settings, collection, partitions)
        for unread in held:
            echo(f"{collection.name}: released: {unread}")
        if held or unsolved:
            await release_all(settings, collection)
        if unsolved:
            echo(f"{collection.name}: released: all windows whose records are on the log")
        elif not held:
            echo(f"{collection.name}: nothing holds its finals back")
