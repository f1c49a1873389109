"""The kind of collections of strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.pipeline.kind import Kind
from stream_ldp.strings.answer import StringRanking
from stream_ldp.strings.charges import charges
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.evaluation import EVALUATION
from stream_ldp.strings.layout import StringLayout
from stream_ldp.strings.plan import plan, summary
from stream_ldp.strings.reports import reports
from stream_ldp.strings.solve import solve
from stream_ldp.strings.truth import totals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.audit.audited import AuditSubject
    from stream_ldp.audit.wire.client import SpecifiedClient


def claims(collection: StringCollection) -> AuditSubject:
    """Return what is claimed of a collection; only audits import what enumerates it."""
    from stream_ldp.strings.audited import subject  # noqa: PLC0415

    return subject(collection)


def specified(file: Mapping[str, Any], meaning: str) -> SpecifiedClient:
    """Return the client that is written from the specification; only audits import it."""
    from stream_ldp.audit.wire.strings import Strings  # noqa: PLC0415

    return Strings(meaning, file)


STRINGS = Kind(
    name="strings",
    collection=StringCollection,
    mechanisms=("strings",),
    charges=charges,
    claims=claims,
    specified=specified,
    layout=StringLayout,
    solve=solve,
    answer=StringRanking,
    messages=(StringRanking,),
    summary=summary,
    plan=plan,
    reports=reports,
    totals=totals,
    evaluation=EVALUATION,
)
