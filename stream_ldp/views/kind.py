"""The kind of the collections of views."""

from collections.abc import Mapping
from typing import Any

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, always, parts_in


def is_of_views(document: Mapping[str, Any]) -> bool:
    """Say whether a sampled collection is of views.

    It has estimates, or synthetic records, or asks about more than single attributes.
    """
    asked = document["mechanism"].get("ask", "attributes")
    return "estimates" in document or "synthesis" in document or asked != "attributes"


VIEWS = Kind(
    **(
        parts_in("views")
        | parts_in("questions", "reports", "charges", "claims", "published")
        | parts_in("records", "totals")
    ),
    name="views",
    collection=deferred("stream_ldp.views.collection:ViewsCollection"),
    mechanisms=("sampled",),
    takes=is_of_views,
    per_turn=lambda collection: collection.questions.epsilon,
    specified=deferred("stream_ldp.audit.wire.questions:Sampled"),
    layout=deferred("stream_ldp.questions.layout:QuestionLayout"),
    answer=deferred("stream_ldp.records.answer:Estimate"),
    vocabulary={"Fit.method": ("views",), "Fit.stop": ("sweeps",)},
    for_finals=deferred("stream_ldp.views.dependence:for_finals"),
    libraries=always("scipy.linalg", "scipy.special"),
    narrowed_to=deferred("stream_ldp.views.collection:narrowed_to"),
    synthetic=deferred("stream_ldp.synthesis.chunk:SYNTHETIC"),
)
