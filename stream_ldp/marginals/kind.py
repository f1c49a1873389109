"""The kind of sampled collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.marginals.answer import Marginals
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.evaluation import EVALUATION
from stream_ldp.marginals.plan import plan, summary
from stream_ldp.marginals.solve import solve
from stream_ldp.marginals.truth import totals
from stream_ldp.pipeline.kind import Kind, always
from stream_ldp.questions.charges import charges
from stream_ldp.questions.layout import QuestionLayout
from stream_ldp.questions.reports import reports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.audit.audited import AuditSubject
    from stream_ldp.audit.wire.client import SpecifiedClient


def claims(collection: SampledCollection) -> AuditSubject:
    """Return what is claimed of a collection; only audits import what enumerates it."""
    from stream_ldp.questions.audited import subject  # noqa: PLC0415

    return subject(collection)


def specified(file: Mapping[str, Any], meaning: str) -> SpecifiedClient:
    """Return the client that is written from the specification; only audits import it."""
    from stream_ldp.audit.wire.questions import Sampled  # noqa: PLC0415

    return Sampled(meaning, file)


SAMPLED = Kind(
    name="sampled",
    collection=SampledCollection,
    mechanisms=("sampled",),
    charges=charges,
    claims=claims,
    specified=specified,
    layout=QuestionLayout,
    solve=solve,
    answer=Marginals,
    messages=(Marginals,),
    summary=summary,
    plan=plan,
    evaluation=EVALUATION,
    reports=reports,
    totals=totals,
    libraries=always("scipy.linalg", "scipy.special"),
)
