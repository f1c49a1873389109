"""This command prints the contracts of the service."""

from typing import Annotated

import typer

from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.collection.located import suggestion
from stream_ldp.schemas import contract, contracts


def schema(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of the contract; without it, all names.", show_default=False),
    ] = None,
) -> None:
    """Print a contract: a JSON Schema, or an OpenAPI or AsyncAPI document.

    For completion in an editor, save that of collection files beside yours, and begin these with the line
    `# yaml-language-server: $schema=collection-v1.json`.
    """
    if name is None:
        echo(*contracts())
        return
    try:
        typer.echo(contract(name), nl=False)
    except KeyError:
        fail(f"there is no contract {name!r}{suggestion(name, contracts())}", code=2)
