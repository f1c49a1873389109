"""The kind of collections of strings."""

from __future__ import annotations

from stream_ldp.pipeline.kind import Kind
from stream_ldp.strings.answer import StringRanking
from stream_ldp.strings.charges import charges
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.evaluation import EVALUATION
from stream_ldp.strings.layout import StringLayout
from stream_ldp.strings.plan import plan, summary
from stream_ldp.strings.reports import reports
from stream_ldp.strings.solve import solve
from stream_ldp.strings.truth import totals

STRINGS = Kind(
    name="strings",
    collection=StringCollection,
    mechanisms=("strings",),
    charges=charges,
    layout=StringLayout,
    solve=solve,
    answer=StringRanking,
    messages=(StringRanking,),
    summary=summary,
    plan=plan,
    reports=reports,
    totals=totals,
    evaluation=EVALUATION,
)
