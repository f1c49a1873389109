"""The kind of the collections of records."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from stream_ldp.deferred import deferred
from stream_ldp.pipeline.kind import Kind, parts_in

if TYPE_CHECKING:
    from stream_ldp.records.collection import JointCollection


def libraries(collection: JointCollection) -> tuple[str, ...]:
    """Name the modules that solves need: scikit-learn, the slowest to import, for methods that begin with a LASSO."""
    lasso = any(series.method != "em" for series in collection.estimates)
    return ("scipy.sparse.linalg", "scipy.special", *(("sklearn.linear_model",) if lasso else ()))


RECORDS = Kind(
    **parts_in("records"),
    name="records",
    collection=deferred("stream_ldp.records.collection:JointCollection"),
    mechanisms=("rr-ldp", "k-rr", "k-subset", "hashed-k-rr"),
    per_turn=lambda collection: collection.mechanism.privacy_loss(reports=1).epsilon,
    specified=lambda file, _: deferred("stream_ldp.audit.wire.records:Records")(file),
    layout=deferred("stream_ldp.records.layout:JointLayout"),
    answer=deferred("stream_ldp.records.answer:Estimate"),
    vocabulary=deferred("stream_ldp.records.estimators:VOCABULARY"),
    alternatives=deferred("stream_ldp.records.plan:alternatives"),
    changing=deferred("stream_ldp.records.plan:changing"),
    for_budget=deferred("stream_ldp.records.plan:for_budget"),
    is_large=deferred("stream_ldp.records.solve_time:is_large"),
    solve_times=deferred("stream_ldp.records.solve_time:solve_times"),
    fit=attrgetter("fit"),
    users=deferred("stream_ldp.records.solve:users"),
    libraries=libraries,
    narrowed_to=deferred("stream_ldp.records.collection:narrowed_to"),
    synthetic=deferred("stream_ldp.synthesis.chunk:SYNTHETIC"),
)
