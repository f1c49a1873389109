"""The kind of collections of places."""

from __future__ import annotations

from stream_ldp.pipeline.kind import Kind, always
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.places.charges import charges
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.places.evaluation import EVALUATION
from stream_ldp.places.plan import plan, summary
from stream_ldp.places.reports import reports
from stream_ldp.places.solve import solve
from stream_ldp.places.truth import totals
from stream_ldp.questions.layout import QuestionLayout

PLACES = Kind(
    name="places",
    collection=PlaceCollection,
    mechanisms=("places",),
    charges=charges,
    layout=QuestionLayout,
    solve=solve,
    answer=PlaceCounts,
    messages=(PlaceCounts,),
    summary=summary,
    plan=plan,
    reports=reports,
    totals=totals,
    libraries=always("scipy.linalg", "scipy.special"),
    evaluation=EVALUATION,
)
