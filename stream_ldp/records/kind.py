"""The kind of the collections of records."""

from __future__ import annotations

from operator import attrgetter

from stream_ldp.mechanisms import MECHANISMS
from stream_ldp.pipeline.kind import Kind
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection, about
from stream_ldp.records.layout import JointLayout
from stream_ldp.records.plan import for_budget, plan, summary
from stream_ldp.records.reports import reports
from stream_ldp.records.solve import solve, users
from stream_ldp.records.solve_time import solve_times

__all__ = ["RECORDS"]

RECORDS = Kind(
    name="records",
    collection=JointCollection,
    mechanisms=tuple(MECHANISMS),
    layout=JointLayout,
    solve=solve,
    answer=Estimate,
    messages=(Estimate,),
    summary=summary,
    plan=plan,
    reports=reports,
    for_budget=for_budget,
    solve_times=solve_times,
    fit=attrgetter("fit"),
    users=users,
    libraries=("scipy.sparse.linalg", "scipy.special", "sklearn.linear_model"),
    about=about,
)
