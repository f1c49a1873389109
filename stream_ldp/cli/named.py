"""Find the collection that a command is given, by its file or by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import same_names
from stream_ldp.collection import CollectionError
from stream_ldp.collection.located import suggestion
from stream_ldp.kafka.connection import check_connection
from stream_ldp.kafka.registry import read_registration
from stream_ldp.kafka.registry_log import read_registry
from stream_ldp.kinds import collection_of_document, load_collection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.collection.labels import Labels
    from stream_ldp.kafka.registry import Registration
    from stream_ldp.kafka.settings import Settings


def collection_or_name(given: str) -> Collection | str:
    """Load the collection if a file is given, and return a name as it is, or end the command if it is neither.

    Raises:
        CollectionError: the file is wrong.
    """
    if Path(given).is_file():
        return load_collection(Path(given))
    if Path(given).is_dir():
        fail(f"{given}: a directory, where a collection's file or name was expected")
    if not given.replace("-", "").replace("_", "").isalnum():
        fail(f"{given}: there is no such file, and it is no collection's name")
    return given


async def read_as(
    known: Collection | str, *, settings: Settings, series: Sequence[str] | None = None
) -> tuple[str | None, Labels]:
    """Return the title of a collection, and what people read in place of its values.

    Of one that is known by its name, they are those that are registered; none where nothing can be read of it. The
    command ends if it has no estimate of one of the names in `series`.
    """
    if isinstance(known, str):
        registration = await read_registration(settings, known)
        try:
            if registration is None:
                return None, {}
            known = collection_of_document(registration.document, source=known)
        except CollectionError:  # of another release, which says what its own answers mean
            return None, {}
        require_series(known, series)
    return known.title, known.labels


async def named_collections(given: Sequence[str], *, settings: Settings) -> dict[str, Collection]:
    """Return collections, by what each was given as: a file, or a name that is registered.

    The command ends if two have the same name, or one is neither.

    Raises:
        CollectionError: a file is wrong, or a registration is that of another release.
        BrokerUnreachable, RegistryError: the registry cannot be read.
    """
    known = [collection_or_name(each) for each in given]
    registered: Mapping[str, Registration] = {}
    if any(isinstance(each, str) for each in known):
        await check_connection(settings)
        registered = await read_registry(settings)
    found: dict[str, Collection] = {}
    for name, each in zip(given, known, strict=True):
        if not isinstance(each, str):
            found[name] = each
        elif each in registered:
            found[name] = collection_of_document(registered[each].document, source=each)
        else:
            fail(
                f"{each}: there is no such file, and no collection is registered with this name"
                f"{suggestion(each, list(registered))}"
            )
    if problem := same_names(found):
        fail(problem)
    return found


def require_series(collection: Collection | str, names: Sequence[str] | None) -> None:
    """End the command if the collection has no estimate of one of these names; None names no estimate.

    The estimates of a collection that is known by its name alone are unknown: `read_as` checks those registered.
    """
    if isinstance(collection, str):
        return
    known = [each.name for each in collection.series]
    for name in names or ():
        if name not in known:
            fail(f"--estimate {name}: {collection.name} has no such estimate{suggestion(name, known)}", code=2)
