"""What is audited of a collection of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.audit.record_mechanism import AuditedRecords
from stream_ldp.ledger.ledger import charged

if TYPE_CHECKING:
    from stream_ldp.audit.audited import AuditSubject
    from stream_ldp.records.collection import JointCollection


def subject(collection: JointCollection) -> AuditSubject:
    """Return the mechanism of a collection of records, with the permanent words of its clients."""
    return AuditedRecords(
        mechanism=collection.mechanism, words=collection.permanent_words(), collection=collection, charged=charged
    )
