"""The audit of the clients of a collection, whatever its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.client.audit.item_reporter import audit_item_reporter
from stream_ldp.client.audit.reporter import audit_reporter
from stream_ldp.client.audit.subjects import JointSubject, PlaceSubject, SampledSubject, StringSubject
from stream_ldp.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from stream_ldp.client.audit.finding import Finding
    from stream_ldp.client.audit.subjects import Subject

#: What is expected of reporters of records, by the name of the kind.
_SUBJECTS: Mapping[str, Callable[[Any], Subject]] = {
    "records": JointSubject,
    "sampled": SampledSubject,
    "views": SampledSubject,
    "strings": StringSubject,
    "places": PlaceSubject,
}


async def audit_clients(collection: Any, directory: Path) -> list[Finding]:
    """Run the clients of a collection, and return what is found of each promise.

    directory: an empty directory, for the files of the audit's users.

    Raises:
        KeyError: nothing is known of its kind.
    """
    kind = kind_of(collection)
    if kind.rounds is not None:
        return await audit_item_reporter(collection, directory)
    return await audit_reporter(_SUBJECTS[kind.name](collection), directory)
