"""The kind of the collections of views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_ldp.pipeline.kind import Kind, always
from stream_ldp.questions.charges import charges
from stream_ldp.questions.layout import QuestionLayout
from stream_ldp.questions.reports import reports
from stream_ldp.records.answer import Estimate
from stream_ldp.records.truth import totals
from stream_ldp.views.collection import ViewsCollection, narrowed_to
from stream_ldp.views.dependence import for_finals
from stream_ldp.views.evaluation import EVALUATION
from stream_ldp.views.plan import plan, summary
from stream_ldp.views.solve import solve


def is_of_views(document: Mapping[str, Any]) -> bool:
    """Say whether a sampled collection is of views.

    It has estimates, or synthetic records, or asks about more than single attributes.
    """
    asked = document["mechanism"].get("ask", "attributes")
    return "estimates" in document or "synthesis" in document or asked != "attributes"


VIEWS = Kind(
    name="views",
    collection=ViewsCollection,
    mechanisms=("sampled",),
    takes=is_of_views,
    charges=charges,
    layout=QuestionLayout,
    solve=solve,
    answer=Estimate,
    summary=summary,
    plan=plan,
    reports=reports,
    totals=totals,
    for_finals=for_finals,
    libraries=always("scipy.linalg", "scipy.special"),
    narrowed_to=narrowed_to,
    evaluation=EVALUATION,
)
