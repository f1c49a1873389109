"""The audit of the clients of a collection, whatever its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.client.audit.reporter import audit_reporter
from stream_ldp.client.audit.respondent import audit_respondent
from stream_ldp.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stream_ldp.client.audit.finding import Finding


async def audit_clients(collection: Any, file: Mapping[str, Any], directory: Path) -> list[Finding]:
    """Run the clients of a collection, and return what is found of each promise.

    file: the collection's file, as data.
    directory: an empty directory, for the files of the audit's users.
    """
    kind = kind_of(collection)
    client: Any = kind.specified(file, collection.meaning)
    audit = audit_reporter if kind.rounds is None else audit_respondent
    return await audit(collection, client, file, directory)
