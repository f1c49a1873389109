"""The kind of collections of places."""

from __future__ import annotations

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, always

PLACES = Kind(
    name="places",
    collection=deferred("stream_ldp.places.collection:PlaceCollection"),
    mechanisms=("places",),
    charges=deferred("stream_ldp.places.charges:charges"),
    claims=deferred("stream_ldp.places.audited:subject"),
    per_turn=lambda collection: max(collection.mechanism_spec.epsilon),
    specified=deferred("stream_ldp.audit.wire.places:Places"),
    layout=deferred("stream_ldp.questions.layout:QuestionLayout"),
    solve=deferred("stream_ldp.places.solve:solve"),
    answer=deferred("stream_ldp.places.answer:PlaceCounts"),
    vocabulary={"PlaceCounts.weights": ("users", "variance")},
    summary=deferred("stream_ldp.places.plan:summary"),
    plan=deferred("stream_ldp.places.plan:plan"),
    published=deferred("stream_ldp.places.plan:published"),
    leverages=deferred("stream_ldp.places.plan:leverages"),
    reports=deferred("stream_ldp.questions.reports:reports"),
    totals=deferred("stream_ldp.places.evaluation:totals"),
    libraries=always("scipy.linalg", "scipy.special"),
    evaluation=deferred("stream_ldp.places.evaluation:EVALUATION"),
)
