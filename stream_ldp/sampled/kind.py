"""The kind of sampled collections."""

from __future__ import annotations

from stream_ldp.pipeline.kind import Kind
from stream_ldp.sampled.answer import Marginals
from stream_ldp.sampled.collection import SampledCollection
from stream_ldp.sampled.layout import SampledLayout
from stream_ldp.sampled.plan import plan, summary
from stream_ldp.sampled.solve import solve

__all__ = ["SAMPLED"]

SAMPLED = Kind(
    name="sampled",
    collection=SampledCollection,
    mechanisms=("sampled",),
    layout=SampledLayout,
    solve=solve,
    answer=Marginals,
    messages=(Marginals,),
    summary=summary,
    plan=plan,
    libraries=("scipy.linalg", "scipy.special"),
)
