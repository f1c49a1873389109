"""The kind of collections of key-value data."""

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, always, parts_in

PAIRS = Kind(
    **(parts_in("pairs") | parts_in("questions", "reports", "charges", "claims", "published")),
    name="pairs",
    collection=deferred("stream_ldp.pairs.collection:PairsCollection"),
    mechanisms=("pairs",),
    per_turn=lambda collection: collection.questions.epsilon,
    specified=deferred("stream_ldp.audit.wire.pairs:Pairs"),
    layout=deferred("stream_ldp.questions.layout:QuestionLayout"),
    answer=deferred("stream_ldp.pairs.answer:PairEstimates"),
    libraries=always("scipy.linalg", "scipy.special"),
)
