"""This module shows a collection of records on one line, and its plan as tables."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from stream_ldp.cli.displays.budgets import budget_documents, budget_table, number
from stream_ldp.cli.displays.plan_text import error_documents
from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.mechanisms.privacy_loss import shown_epsilon, shown_guess
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.records.collection import JointCollection
    from stream_ldp.records.plan import EstimatePlan, OtherMechanism, Plan

__all__ = ["plan_document", "show_plan", "summary"]


def summary(collection: JointCollection, *, lasting: str) -> str:
    """Describe the collection on one line; `lasting` describes its windows."""
    return (
        f"{quantity(len(collection.attributes), 'attribute')}, {quantity(collection.bits, 'bit')} a report, "
        f"{lasting}, estimates {', '.join(each.name for each in collection.estimates)}"
    )


def plan_document(planned: Plan) -> dict[str, object]:
    """Return the plan as plain data, for JSON."""
    return asdict(planned) | {
        "privacy": [
            {
                "neighbours": loss.neighbours,
                # JSON has no infinity.
                "reports": "inf" if math.isinf(loss.reports) else int(loss.reports),
                "epsilon": loss.epsilon,
                "assumption": loss.assumption,
            }
            for loss in planned.privacy
        ],
        "day": {"reports": int(planned.day.reports), "epsilon": planned.day.epsilon},
        "budgets": budget_documents(planned.budgets),
        "estimates": [
            asdict(estimate) | {"errors": error_documents(estimate.errors, population="reports")}
            for estimate in planned.estimates
        ],
    }


def show_plan(planned: Plan) -> None:
    """Print the plan."""
    console = Console(highlight=False)
    console.print(
        f"Collection {planned.collection}, fingerprint {planned.fingerprint}: "
        f"{quantity(planned.bits, 'bit')} a report, {quantity(planned.report_bytes, 'byte')} with padding.",
        markup=False,
    )
    relations = list(dict.fromkeys(loss.relation for loss in planned.privacy))
    table = Table(
        "reports of one user", *relations, box=box.SIMPLE, title="Epsilon, while the user's record is constant"
    )
    for reports in dict.fromkeys(loss.reports for loss in planned.privacy):
        shown = [shown_epsilon(loss.epsilon) for loss in planned.privacy if loss.reports == reports]
        table.add_row("for ever" if math.isinf(reports) else f"{int(reports)}", *shown)
    print_whole(console, table)
    for loss in planned.privacy:
        if math.isinf(loss.reports):
            console.print(
                f"{loss.relation}: whoever held both for equally likely is never surer of one than "
                f"{shown_guess(loss.epsilon)}.".capitalize(),
                markup=False,
            )
    if planned.linked is not None:
        console.print(f"Linked: {planned.linked}.", markup=False)
        for estimate in planned.estimates:
            console.print(
                f"{estimate.name}: if the same users report in all windows of a period, the error falls to "
                f"{estimate.linked_error:.2f} of that of one window.",
                markup=False,
            )
    console.print(
        f"A user who reports once in each window that asks them, {number(planned.reports_per_day)} times a day, "
        f"spends {shown_epsilon(planned.day.epsilon)} nats on the first day.",
        markup=False,
    )
    console.print(budget_table(planned.budgets, of="reports"))
    populations = [f"{reports:,} reports" for reports, _ in planned.estimates[0].errors]
    table = Table(
        "estimate",
        "of",
        "cells",
        "state of a window and partition",
        *populations,
        box=box.SIMPLE,
        title="Estimates, with the standard error to expect of a cell",
    )
    for estimate in planned.estimates:
        errors = [f"{error:.4f}" for _, error in estimate.errors]
        table.add_row(estimate.name, _attributes(estimate), f"{estimate.cells:,}", _state(estimate), *errors)
    print_whole(console, table)
    for other in planned.others:
        console.print(_compared(other, [each.name for each in planned.estimates]), markup=False)


def _attributes(estimate: EstimatePlan) -> str:
    own = ", ".join(estimate.of)
    return own if estimate.counted == estimate.of else f"{own}; rows of {len(estimate.counted)} attributes"


def _compared(other: OtherMechanism, estimates: Sequence[str]) -> str:
    """Say what another mechanism with the same epsilon for ever would give."""
    better = [name for name, error in zip(estimates, other.errors, strict=True) if error < 1]
    all_or_none = {0: "none of the estimates", len(estimates): "all estimates"}
    verdict = all_or_none.get(len(better), ", ".join(better))
    least, most = min(other.errors), max(other.errors)
    times = f"{least:.2f}" if f"{least:.2f}" == f"{most:.2f}" else f"{least:.2f} to {most:.2f}"
    parameters = ", ".join(f"{name}: {value:.4g}" for name, value in other.parameters.items())
    return (
        f"With `kind: {other.kind}, {parameters}`, and the same epsilon for ever between any two records, standard "
        f"errors are {times} of these: it is the better one for {verdict}. One report costs "
        f"{shown_epsilon(other.per_report)} with it."
    )


def _state(estimate: EstimatePlan) -> str:
    return f"{decimal(estimate.state_bytes)} {'a report' if estimate.grows else 'in all'}"
