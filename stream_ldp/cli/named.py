"""Find the collection that a command is given, by its file or by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import load_collections
from stream_ldp.collection.located import suggestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.collection import Collection


def collection_or_name(given: str) -> Collection | str:
    """Load the collection if a file is given, and return a name as it is, or end the command if it is neither.

    Raises:
        CollectionError: the file is wrong.
    """
    if Path(given).is_file():
        (known,) = load_collections([Path(given)]).values()
        return known
    if Path(given).is_dir():
        fail(f"{given}: a directory, where a collection's file or name was expected")
    if not given.replace("-", "").replace("_", "").isalnum():
        fail(f"{given}: there is no such file, and it is no collection's name")
    return given


def require_series(collection: Collection | str, names: Sequence[str] | None) -> None:
    """End the command if the file of the collection has no estimate of one of these names; None names no estimate.

    Of a collection that is known by its name alone, nobody knows its estimates.
    """
    if isinstance(collection, str):
        return
    known = [each.name for each in collection.series]
    for name in names or ():
        if name not in known:
            fail(f"--estimate {name}: {collection.name} has no such estimate{suggestion(name, known)}", code=2)
