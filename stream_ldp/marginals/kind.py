"""The kind of sampled collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, always

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.audit.wire.client import SpecifiedClient


def specified(file: Mapping[str, Any], meaning: str) -> SpecifiedClient:
    """Return the client that is written from the specification; only audits import it."""
    from stream_ldp.audit.wire.questions import Sampled  # noqa: PLC0415

    return Sampled(meaning, file)


SAMPLED = Kind(
    name="sampled",
    collection=deferred("stream_ldp.marginals.collection:SampledCollection"),
    mechanisms=("sampled",),
    charges=deferred("stream_ldp.questions.charges:charges"),
    claims=deferred("stream_ldp.questions.audited:subject"),
    per_turn=lambda collection: collection.questions.epsilon,
    specified=specified,
    layout=deferred("stream_ldp.questions.layout:QuestionLayout"),
    solve=deferred("stream_ldp.marginals.solve:solve"),
    answer=deferred("stream_ldp.marginals.answer:Marginals"),
    summary=deferred("stream_ldp.marginals.plan:summary"),
    plan=deferred("stream_ldp.marginals.plan:plan"),
    published=deferred("stream_ldp.questions.published:published"),
    leverages=deferred("stream_ldp.marginals.plan:leverages"),
    evaluation=deferred("stream_ldp.marginals.evaluation:EVALUATION"),
    changing=deferred("stream_ldp.marginals.plan:changing"),
    reports=deferred("stream_ldp.questions.reports:reports"),
    totals=deferred("stream_ldp.marginals.truth:totals"),
    libraries=always("scipy.linalg", "scipy.special"),
)
