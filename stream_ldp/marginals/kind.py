"""The kind of sampled collections."""

from __future__ import annotations

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, always

SAMPLED = Kind(
    name="sampled",
    collection=deferred("stream_ldp.marginals.collection:SampledCollection"),
    mechanisms=("sampled",),
    charges=deferred("stream_ldp.questions.reports:charges"),
    claims=deferred("stream_ldp.questions.audited:subject"),
    per_turn=lambda collection: collection.questions.epsilon,
    specified=deferred("stream_ldp.audit.wire.questions:Sampled"),
    layout=deferred("stream_ldp.questions.layout:QuestionLayout"),
    solve=deferred("stream_ldp.marginals.solve:solve"),
    answer=deferred("stream_ldp.marginals.answer:Marginals"),
    summary=deferred("stream_ldp.marginals.plan:summary"),
    plan=deferred("stream_ldp.marginals.plan:plan"),
    published=deferred("stream_ldp.questions.plan:published"),
    leverages=deferred("stream_ldp.marginals.plan:leverages"),
    evaluation=deferred("stream_ldp.marginals.evaluation:EVALUATION"),
    changing=deferred("stream_ldp.marginals.plan:changing"),
    reports=deferred("stream_ldp.questions.reports:reports"),
    totals=deferred("stream_ldp.marginals.evaluation:totals"),
    libraries=always("scipy.linalg", "scipy.special"),
)
