"""This command checks collection files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_ldp.cli.failure import fail
from stream_ldp.cli.kinds import face_of
from stream_ldp.collection import CollectionError
from stream_ldp.kinds import load_collection

if TYPE_CHECKING:
    from stream_ldp.collection import Collection

__all__ = ["check"]


def check(
    files: Annotated[
        list[Path], typer.Argument(metavar="COLLECTION", help="One or more collection files.", dir_okay=False)
    ],
) -> None:
    """Print a line for each correct file, and exit with status 1 if anything is wrong."""
    problems: list[str] = []
    for file in files:
        try:
            collection = load_collection(file)
        except CollectionError as error:
            problems += error.problems
        else:
            typer.echo(f"{file}: ok: {_summary(collection)}")
    if problems:
        fail("\n".join(problems))


def _summary(collection: Collection) -> str:
    window = collection.window
    kind = "windows" if window.pane_ms == window.size_ms else f"windows every {window.pane_ms / 1_000:g} s,"
    rest = face_of(collection).summary(collection, lasting=f"{kind} of {window.size_ms / 1_000:g} s")
    return f"collection {collection.name}, fingerprint {collection.fingerprint.hex()}, {rest}"
