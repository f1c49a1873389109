"""The kind of collections of places."""

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, always, parts_in

PLACES = Kind(
    **(
        parts_in("places")
        | parts_in("questions", "reports")
        | {"charges": deferred("stream_ldp.places.charges:charges")}
    ),
    name="places",
    collection=deferred("stream_ldp.places.collection:PlaceCollection"),
    mechanisms=("places",),
    per_turn=lambda collection: max(collection.mechanism_spec.epsilon),
    specified=deferred("stream_ldp.audit.wire.places:Places"),
    layout=deferred("stream_ldp.questions.layout:QuestionLayout"),
    answer=deferred("stream_ldp.places.answer:PlaceCounts"),
    vocabulary={"PlaceCounts.weights": ("users", "variance")},
    libraries=always("scipy.linalg", "scipy.special"),
)
