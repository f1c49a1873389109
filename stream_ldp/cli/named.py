"""This module finds the collection that a command is given, by its file or by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import load_collections

if TYPE_CHECKING:
    from stream_ldp.collection import Collection

__all__ = ["collection_or_name"]


def collection_or_name(given: str) -> Collection | str:
    """Load the collection if a file is given, and return a name as it is, or end the command if it is neither.

    Raises:
        CollectionError: the file is wrong.
    """
    if Path(given).is_file():
        (known,) = load_collections([Path(given)]).values()
        return known
    if not given.replace("-", "").replace("_", "").isalnum():
        fail(f"{given}: there is no such file, and it is no collection's name")
    return given
