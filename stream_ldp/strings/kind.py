"""The kind of collections of strings."""

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, parts_in

STRINGS = Kind(
    **parts_in("strings"),
    name="strings",
    collection=deferred("stream_ldp.strings.collection:StringCollection"),
    mechanisms=("strings",),
    per_turn=lambda collection: collection.method.questions.epsilon,
    specified=deferred("stream_ldp.audit.wire.strings:Strings"),
    layout=deferred("stream_ldp.strings.layout:StringLayout"),
    answer=deferred("stream_ldp.strings.answer:StringRanking"),
    vocabulary=deferred("stream_ldp.strings.collection:VOCABULARY"),
)
