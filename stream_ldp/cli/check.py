"""`stream-ldp check`: is a collection file right, and if not, what would be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_ldp.cli.failure import fail
from stream_ldp.collection import CollectionError
from stream_ldp.kinds import load_collection
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import epoch_epsilon

if TYPE_CHECKING:
    from stream_ldp.kinds import AnyCollection

__all__ = ["check"]


def check(
    files: Annotated[list[Path], typer.Argument(metavar="COLLECTION", help="Collection files.", dir_okay=False)],
) -> None:
    """Print a line for each file that is right, and end with 1 if anything is wrong."""
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


def _summary(collection: AnyCollection) -> str:
    window = collection.window
    kind = "windows" if window.pane_ms == window.size_ms else f"windows every {window.pane_ms / 1_000:g} s,"
    known = f"collection {collection.name}, fingerprint {collection.fingerprint.hex()}"
    lasting = f"{kind} of {window.size_ms / 1_000:g} s"
    if isinstance(collection, ItemCollection):
        method = collection.method
        epsilon = shown_epsilon(epoch_epsilon(method))
        return (
            f"{known}, {collection.items.count:,} items, {method.name} for the top {method.k}, "
            f"{collection.epochs} epochs of {len(method.phases)} phases at epsilon {epsilon}, "
            f"{lasting}"
        )
    return (
        f"{known}, {len(collection.attributes)} attributes, {collection.mechanism.bits} bits a report, {lasting}, "
        f"estimates {', '.join(each.name for each in collection.estimates)}"
    )
