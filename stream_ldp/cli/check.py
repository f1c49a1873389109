"""`stream-ldp check`: is a collection file right, and if not, what would be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_ldp.cli.options import fail
from stream_ldp.collection import Collection, CollectionError

__all__ = ["check"]


def check(
    files: Annotated[list[Path], typer.Argument(metavar="COLLECTION", help="Collection files.", dir_okay=False)],
) -> None:
    """Check collection files: say what is wrong, where, and what would be right; end with 1 if anything is."""
    problems: list[str] = []
    for file in files:
        try:
            collection = Collection.load(file)
        except CollectionError as error:
            problems += error.problems
        else:
            typer.echo(f"{file}: ok: {_summary(collection)}")
    if problems:
        fail("\n".join(problems))


def _summary(collection: Collection) -> str:
    window = collection.window
    kind = "windows" if window.pane_ms == window.size_ms else f"windows every {window.pane_ms / 1_000:g} s,"
    return (
        f"collection {collection.name}, fingerprint {collection.fingerprint.hex()}, "
        f"{len(collection.attributes)} attributes, {collection.mechanism.bits} bits a report, "
        f"{kind} of {window.size_ms / 1_000:g} s, estimates {', '.join(each.name for each in collection.estimates)}"
    )
