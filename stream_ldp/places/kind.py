"""The kind of collections of places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.pipeline.kind import Kind, always
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.places.charges import charges
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.places.evaluation import EVALUATION
from stream_ldp.places.plan import plan, summary
from stream_ldp.places.reports import reports
from stream_ldp.places.solve import solve
from stream_ldp.places.truth import totals
from stream_ldp.questions.layout import QuestionLayout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.audit.audited import AuditSubject
    from stream_ldp.audit.wire.client import SpecifiedClient


def claims(collection: PlaceCollection) -> AuditSubject:
    """Return what is claimed of a collection; only audits import what enumerates it."""
    from stream_ldp.places.audited import subject  # noqa: PLC0415

    return subject(collection)


def specified(file: Mapping[str, Any], meaning: str) -> SpecifiedClient:
    """Return the client that is written from the specification; only audits import it."""
    from stream_ldp.audit.wire.places import Places  # noqa: PLC0415

    return Places(meaning, file)


PLACES = Kind(
    name="places",
    collection=PlaceCollection,
    mechanisms=("places",),
    charges=charges,
    claims=claims,
    specified=specified,
    layout=QuestionLayout,
    solve=solve,
    answer=PlaceCounts,
    messages=(PlaceCounts,),
    summary=summary,
    plan=plan,
    reports=reports,
    totals=totals,
    libraries=always("scipy.linalg", "scipy.special"),
    evaluation=EVALUATION,
)
