"""The kind of the collections of records."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from stream_ldp.mechanisms import MECHANISMS
from stream_ldp.pipeline.kind import Kind
from stream_ldp.records.answer import Estimate
from stream_ldp.records.charges import charges
from stream_ldp.records.collection import JointCollection, narrowed_to
from stream_ldp.records.evaluation import EVALUATION
from stream_ldp.records.layout import JointLayout
from stream_ldp.records.plan import for_budget, plan, summary
from stream_ldp.records.reports import reports
from stream_ldp.records.solve import solve, users
from stream_ldp.records.solve_time import solve_times
from stream_ldp.records.truth import totals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.audit.audited import AuditSubject
    from stream_ldp.audit.wire.client import SpecifiedClient


def libraries(collection: JointCollection) -> tuple[str, ...]:
    """Name the modules that solves need: scikit-learn, the slowest to import, for methods that begin with a LASSO."""
    lasso = any(series.method != "em" for series in collection.estimates)
    return ("scipy.sparse.linalg", "scipy.special", *(("sklearn.linear_model",) if lasso else ()))


def claims(collection: JointCollection) -> AuditSubject:
    """Return what is claimed of a collection; only audits import what enumerates it."""
    from stream_ldp.records.audited import subject  # noqa: PLC0415

    return subject(collection)


def specified(file: Mapping[str, Any], meaning: str) -> SpecifiedClient:  # noqa: ARG001  other kinds need it
    """Return the client that is written from the specification; only audits import it."""
    from stream_ldp.audit.wire.records import Records  # noqa: PLC0415

    return Records(file)


RECORDS = Kind(
    name="records",
    collection=JointCollection,
    mechanisms=tuple(MECHANISMS),
    charges=charges,
    claims=claims,
    specified=specified,
    layout=JointLayout,
    solve=solve,
    answer=Estimate,
    messages=(Estimate,),
    summary=summary,
    plan=plan,
    reports=reports,
    totals=totals,
    for_budget=for_budget,
    solve_times=solve_times,
    fit=attrgetter("fit"),
    users=users,
    libraries=libraries,
    narrowed_to=narrowed_to,
    evaluation=EVALUATION,
)
