"""This module shows a sampled collection on one line, and its plan as tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.displays.plan_text import error_documents, print_head
from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from stream_ldp.sampled.collection import SampledCollection
    from stream_ldp.sampled.plan import AttributePlan, Plan

__all__ = ["plan_document", "show_plan", "summary"]


def summary(collection: SampledCollection, *, lasting: str) -> str:
    """Describe the collection on one line; `lasting` describes its windows."""
    questions = collection.questions
    return (
        f"{quantity(len(collection.attributes), 'attribute')}, each user asked about one at epsilon "
        f"{shown_epsilon(questions.for_ever)}, {questions.bits} bits a report, {lasting}"
    )


def plan_document(planned: Plan) -> dict[str, object]:
    """Return the plan as plain data, for JSON."""
    return asdict(planned) | {
        "attributes": [asdict(each) | {"errors": error_documents(each.errors)} for each in planned.attributes]
    }


def show_plan(planned: Plan) -> None:
    """Print the plan."""
    console = Console(highlight=False)
    print_head(console, planned)
    console.print(
        f"Epsilon {shown_epsilon(planned.epsilon)} for all reports of a user for ever, who is asked one question; "
        f"{shown_epsilon(planned.changed)} more for each other value of what is asked.",
    )
    if planned.per_report < planned.epsilon:
        console.print(f"Epsilon {shown_epsilon(planned.per_report)} of one report, whose noise is partly fresh.")
    populations = [f"{users:,} users" for users, _ in planned.attributes[0].errors]
    table = Table(
        "attribute",
        "estimated",
        "response",
        "asked",
        *populations,
        box=box.SIMPLE,
        title="Attributes, with the standard error to expect",
        caption="Of a value or output with mean frequency, or the largest of a mean, in units of the attribute.",
    )
    for each in planned.attributes:
        errors = [f"{error:.4g}" for _, error in each.errors]
        table.add_row(each.name, each.estimated, each.mechanism, f"{each.share:.1%}", *errors)
    print_whole(console, table)
    for each in planned.attributes:
        if each.table is not None:
            _show_channel(console, each)


def _show_channel(console: Console, planned: AttributePlan) -> None:
    rows = planned.table or ()
    if planned.estimated == "outputs":
        console.print(
            f"The frequencies of {planned.name} do not follow from the outputs: the shares of these are published, "
            "and no frequencies.",
            markup=False,
        )
    console.print(
        f"Channel of {planned.name}, as `table` in a collection file writes it, so that no other solver can find "
        "another one:",
        markup=False,
    )
    for row in rows:
        console.print(f"  - [{', '.join(f'{each:.10f}' for each in row)}]", markup=False)
