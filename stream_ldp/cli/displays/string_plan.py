"""This module shows a collection of strings on one line, and its plan as tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from stream_ldp.strings.collection import StringCollection
    from stream_ldp.strings.plan import Plan

__all__ = ["plan_document", "show_plan", "summary"]


def summary(collection: StringCollection, *, lasting: str) -> str:
    """Describe the collection on one line; `lasting` describes its windows."""
    questions = collection.method.questions
    unit = "bytes" if collection.string.alphabet is None else "letters"
    return (
        f"strings of at most {collection.string.length} {unit} by {collection.method.name}, "
        f"{quantity(len(questions.questions), 'question')}, each user asked one at epsilon "
        f"{shown_epsilon(questions.epsilon)}, {questions.bits} bits a report, {lasting}"
    )


def plan_document(planned: Plan) -> dict[str, object]:
    """Return the plan as plain data, for JSON."""
    return asdict(planned)


def show_plan(planned: Plan) -> None:
    """Print the plan."""
    console = Console(highlight=False)
    console.print(
        f"Collection {planned.collection}, fingerprint {planned.fingerprint}: {planned.method}, {planned.bits} bits "
        f"a report, {quantity(planned.report_bytes, 'byte')} with padding, by {', '.join(planned.randomizers)}; "
        f"{quantity(planned.state_bytes, 'byte')} for each report of a window.",
        markup=False,
    )
    console.print(
        f"Epsilon {shown_epsilon(planned.epsilon)} for all reports of a user for ever, who is asked one question; "
        f"{shown_epsilon(planned.changed)} at most for each other string of the user.",
    )
    table = Table("question", "asked", box=box.SIMPLE, title="What users are asked about their strings")
    for each in planned.questions:
        table.add_row(each.asked, f"{each.share:.1%}")
    print_whole(console, table)
    errors = Table(
        "users",
        "standard error",
        "least frequency",
        box=box.SIMPLE,
        title="The error to expect of a whole string",
        caption="The least frequency of a string that may be told: with many candidates up to twice as much.",
    )
    for error in planned.errors:
        errors.add_row(f"{error.users:,}", f"{error.standard_error:.4g}", f"{error.least:.4g}")
    console.print(errors)
