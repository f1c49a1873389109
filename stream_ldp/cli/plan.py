"""`stream-ldp plan`: what a collection costs before it runs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from stream_ldp.cli.failure import fail
from stream_ldp.cli.options import load_collections
from stream_ldp.cli.views.item_plan import show_item_plan
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.records.plan import POPULATIONS, EstimatePlan, Plan, for_budget
from stream_ldp.records.plan import plan as work_out
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.plan import USERS, item_plan

if TYPE_CHECKING:
    from stream_ldp.records.collection import JointCollection

__all__ = ["plan"]


def plan(
    file: Annotated[Path, typer.Argument(metavar="COLLECTION", help="Collection file.", dir_okay=False)],
    *,
    reports: Annotated[
        list[int] | None,
        typer.Option(
            "--reports",
            "--users",
            min=1,
            help="Reports in a window, or users who answer an epoch, to tell the error for; can be given again.",
            show_default=False,
        ),
    ] = None,
    for_ever: Annotated[
        float | None,
        typer.Option(help="Find parameters whose epsilon for ever, of any two records, is this.", show_default=False),
    ] = None,
    per_report: Annotated[
        float | None,
        typer.Option(help="With --for-ever: and whose epsilon of one report is this.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Work the cost out from the collection's file alone.

    Of records, with --for-ever, say it for the parameters that spend so much, and print them for the collection's
    file. Of item sets, say it for each phase of an epoch.
    """
    (collection,) = load_collections([file]).values()
    if isinstance(collection, ItemCollection):
        if for_ever is not None or per_report is not None:
            fail("--for-ever and --per-report are for collections of records: see `epsilon` in the file", code=2)
        planned = item_plan(collection, users=reports or USERS)
        if as_json:
            typer.echo(json.dumps(asdict(planned)))
        else:
            show_item_plan(planned)
        return
    _plan_joint(collection, reports=reports, for_ever=for_ever, per_report=per_report, as_json=as_json)


def _plan_joint(
    collection: JointCollection,
    *,
    reports: list[int] | None,
    for_ever: float | None,
    per_report: float | None,
    as_json: bool,
) -> None:
    if per_report is not None and for_ever is None:
        fail("--per-report belongs to --for-ever: give both, or --for-ever alone for permanent responses", code=2)
    if for_ever is not None:
        collection = for_budget(collection, for_ever=for_ever, per_report=per_report)
        if not as_json:
            parameters = collection.mechanism_spec.model_dump(exclude_none=True)
            typer.echo(f"mechanism: {{{', '.join(f'{name}: {value}' for name, value in parameters.items())}}}")
    planned = work_out(collection, populations=reports or POPULATIONS)
    if as_json:
        typer.echo(json.dumps(_document(planned)))
    else:
        _show(planned)


def _document(planned: Plan) -> dict[str, object]:
    return asdict(planned) | {
        "privacy": [
            {
                "neighbours": loss.neighbours,
                # JSON has no number for it.
                "reports": "inf" if math.isinf(loss.reports) else int(loss.reports),
                "epsilon": loss.epsilon,
                "assumption": loss.assumption,
            }
            for loss in planned.privacy
        ],
        "estimates": [
            asdict(estimate)
            | {"errors": [{"reports": reports, "standard_error": error} for reports, error in estimate.errors]}
            for estimate in planned.estimates
        ],
    }


def _show(planned: Plan) -> None:
    console = Console(highlight=False)
    console.print(
        f"Collection {planned.collection}, fingerprint {planned.fingerprint}: "
        f"{planned.bits} bits a report, {planned.report_bytes} bytes with padding.",
        markup=False,
    )
    relations = list(dict.fromkeys(loss.relation for loss in planned.privacy))
    table = Table(
        "reports of one user", *relations, box=box.SIMPLE, title="Epsilon, while the user's record is constant"
    )
    for reports in dict.fromkeys(loss.reports for loss in planned.privacy):
        shown = [shown_epsilon(loss.epsilon) for loss in planned.privacy if loss.reports == reports]
        table.add_row("for ever" if math.isinf(reports) else f"{int(reports)}", *shown)
    console.print(table)
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
        table.add_row(estimate.name, ", ".join(estimate.of), f"{estimate.cells:,}", _state(estimate), *errors)
    console.print(table)


def _state(estimate: EstimatePlan) -> str:
    return f"{decimal(estimate.state_bytes)} {'a report' if estimate.grows else 'in all'}"
