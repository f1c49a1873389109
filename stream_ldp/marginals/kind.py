"""The kind of sampled collections."""

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, always, parts_in

SAMPLED = Kind(
    **(parts_in("marginals") | parts_in("questions", "reports", "charges", "claims", "published")),
    name="sampled",
    collection=deferred("stream_ldp.marginals.collection:SampledCollection"),
    mechanisms=("sampled",),
    per_turn=lambda collection: collection.questions.epsilon,
    specified=deferred("stream_ldp.audit.wire.questions:Sampled"),
    layout=deferred("stream_ldp.questions.layout:QuestionLayout"),
    answer=deferred("stream_ldp.marginals.answer:Marginals"),
    changing=deferred("stream_ldp.marginals.plan:changing"),
    libraries=always("scipy.linalg", "scipy.special"),
)
