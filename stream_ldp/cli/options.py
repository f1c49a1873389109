"""Make a command-line option of each setting, which is described once, in `Settings`."""

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.collection import Collection
from stream_ldp.kafka.settings import CONNECTION, SECRETS, Settings
from stream_ldp.kafka.settings_sources import ENVIRONMENT_PREFIX, SettingsError
from stream_ldp.kinds import load_collection

#: Settings of a command that produces or consumes.
CLIENT = ("config", *CONNECTION, "client_id", "topic_prefix")
#: Settings of a command that serves something other than a worker, and logs.
SERVER = (*CLIENT, "allowed_hosts", "trusted_proxies", "log_format", "log_level")
#: Settings of a command that creates or lists topics.
TOPICS = (*CLIENT, "partials_partitions")
#: Settings of the page.
PAGE = (*SERVER, "page_token_file")
#: Settings of a worker: all but the passwords, which have no flags, and those of the page alone.
WORKER = tuple(name for name in Settings.model_fields if name not in (*SECRETS, "page_token_file"))


def with_settings(
    names: Iterable[str],
) -> Callable[[Callable[..., Coroutine[None, None, None] | None]], Callable[..., None]]:
    """Let a command take these settings as options, and pass it all settings as its parameter `settings`.

        @app.command()
        @with_settings(CLIENT)
        def watch(collection: Path, *, settings: Settings) -> None: ...

    An option that is not given leaves the setting to the environment, the file and the default, in this order. An
    `async` command is a client of the brokers; see `run_client`.
    """
    names = tuple(names)

    def decorate(command: Callable[..., Coroutine[None, None, None] | None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [parameter for parameter in signature.parameters.values() if parameter.name != "settings"]

        @functools.wraps(command)
        def run(*, print_config: bool, **arguments: Any) -> None:
            flags = {name: arguments.pop(name) for name in names}
            try:
                settings = Settings.load(**flags)
            except SettingsError:
                if "log_format" in names:
                    from stream_ldp.cli.logs import begin_log  # noqa: PLC0415  a server alone has a log

                    # What wrong settings ask for cannot be had: the log has the form of the defaults.
                    begin_log(Settings.model_construct())
                raise
            if print_config:
                echo(*settings.printable().splitlines())
                return
            work = command(**arguments, settings=settings)
            if work is not None:
                # Imported here, since `check` uses this module, and needs no Kafka client.
                from stream_ldp.cli.running import run_client  # noqa: PLC0415

                run_client(work)

        parameters = [*own, *map(_option, names), _PRINT_CONFIG]
        keyword_only = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        # Typer reads both: the signature for defaults, the annotations for types.
        run.__signature__ = signature.replace(parameters=keyword_only)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in keyword_only}
        return run

    return decorate


def load_collections(files: Sequence[Path]) -> dict[str, Collection]:
    """Read collection files, by file, or end the command if two have the same name.

    Raises:
        CollectionError: a file is wrong.
    """
    collections = {str(file): load_collection(file) for file in files}
    if problem := same_names(collections):
        fail(problem)
    return collections


def same_names(collections: Mapping[str, Collection]) -> str:
    """Say which files hold collections of the same name, empty if none do.

    collections: by file.
    """
    names = [collection.name for collection in collections.values()]
    twice = [file for file, collection in collections.items() if names.count(collection.name) > 1]
    return f"{' and '.join(twice)} hold collections of the same name: a name means one thing" if twice else ""


def _option(name: str) -> inspect.Parameter:
    field = Settings.model_fields[name]
    kind: Any = field.annotation
    default = "topic_prefix" if field.default_factory else field.default
    option = typer.Option(
        None,
        f"--{name.replace('_', '-')}",
        help=field.description,
        show_default=False if default is None else str(default),
        rich_help_panel=_PANEL,
    )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=kind | None)


_PANEL = f"Settings (also {ENVIRONMENT_PREFIX}NAME, or name: in --config)"

_PRINT_CONFIG = inspect.Parameter(
    "print_config",
    inspect.Parameter.KEYWORD_ONLY,
    default=typer.Option(
        False,
        "--print-config",
        help="Print the settings, without the password, and exit.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
    annotation=bool,
)
