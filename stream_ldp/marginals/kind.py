"""The kind of sampled collections."""

from __future__ import annotations

from stream_ldp.marginals.answer import Marginals
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.evaluation import EVALUATION
from stream_ldp.marginals.plan import plan, summary
from stream_ldp.marginals.solve import solve
from stream_ldp.marginals.truth import totals
from stream_ldp.pipeline.kind import Kind, always
from stream_ldp.questions.charges import charges
from stream_ldp.questions.layout import QuestionLayout
from stream_ldp.questions.reports import reports

SAMPLED = Kind(
    name="sampled",
    collection=SampledCollection,
    mechanisms=("sampled",),
    charges=charges,
    layout=QuestionLayout,
    solve=solve,
    answer=Marginals,
    messages=(Marginals,),
    summary=summary,
    plan=plan,
    evaluation=EVALUATION,
    reports=reports,
    totals=totals,
    libraries=always("scipy.linalg", "scipy.special"),
)
