"""The kind of collections of key-value data."""

from __future__ import annotations

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, always

PAIRS = Kind(
    name="pairs",
    collection=deferred("stream_ldp.pairs.collection:PairsCollection"),
    mechanisms=("pairs",),
    charges=deferred("stream_ldp.questions.reports:charges"),
    claims=deferred("stream_ldp.questions.audited:subject"),
    per_turn=lambda collection: collection.questions.epsilon,
    specified=deferred("stream_ldp.audit.wire.pairs:Pairs"),
    layout=deferred("stream_ldp.questions.layout:QuestionLayout"),
    solve=deferred("stream_ldp.pairs.solve:solve"),
    answer=deferred("stream_ldp.pairs.answer:PairEstimates"),
    summary=deferred("stream_ldp.pairs.plan:summary"),
    plan=deferred("stream_ldp.pairs.plan:plan"),
    published=deferred("stream_ldp.questions.plan:published"),
    leverages=deferred("stream_ldp.pairs.plan:leverages"),
    evaluation=deferred("stream_ldp.pairs.evaluation:EVALUATION"),
    reports=deferred("stream_ldp.questions.reports:reports"),
    totals=deferred("stream_ldp.pairs.evaluation:totals"),
    libraries=always("scipy.linalg", "scipy.special"),
)
