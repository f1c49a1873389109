"""The kind of collections of strings."""

from __future__ import annotations

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind

STRINGS = Kind(
    name="strings",
    collection=deferred("stream_ldp.strings.collection:StringCollection"),
    mechanisms=("strings",),
    charges=deferred("stream_ldp.strings.reports:charges"),
    claims=deferred("stream_ldp.strings.audited:subject"),
    per_turn=lambda collection: collection.method.questions.epsilon,
    specified=deferred("stream_ldp.audit.wire.strings:Strings"),
    layout=deferred("stream_ldp.strings.layout:StringLayout"),
    solve=deferred("stream_ldp.strings.solve:solve"),
    answer=deferred("stream_ldp.strings.answer:StringRanking"),
    vocabulary=deferred("stream_ldp.strings.collection:VOCABULARY"),
    summary=deferred("stream_ldp.strings.plan:summary"),
    plan=deferred("stream_ldp.strings.plan:plan"),
    published=deferred("stream_ldp.strings.plan:published"),
    leverages=deferred("stream_ldp.strings.plan:leverages"),
    reports=deferred("stream_ldp.strings.reports:reports"),
    totals=deferred("stream_ldp.strings.evaluation:totals"),
    evaluation=deferred("stream_ldp.strings.evaluation:EVALUATION"),
)
