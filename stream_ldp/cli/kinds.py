"""What `audit` checks of each kind of collection, by the names in `stream_ldp.kinds.KINDS`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.cli.deferred import Deferred
from stream_ldp.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.collection import Collection

#: By kind, what makes a `stream_ldp.audit.audited.AuditSubject` of a collection.
AUDITED: Mapping[str, Deferred] = {
    kind: Deferred(f"stream_ldp.audit.{module}:subject")
    for kind, module in {
        "records": "records",
        "sets": "sets",
        "sampled": "questions",
        "strings": "strings",
        "views": "questions",
        "places": "places",
    }.items()
}


def audited_of(collection: Collection) -> Any:
    """Return what is audited of a collection.

    Raises:
        KeyError: nothing is known of its kind.
    """
    return AUDITED[kind_of(collection).name](collection)
