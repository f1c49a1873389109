"""This module shows a collection of views on one line, and its plan as tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.displays.plan_text import error_documents, print_head
from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from stream_ldp.views.collection import ViewsCollection
    from stream_ldp.views.plan import DesignPlan, Plan, Relation

__all__ = ["plan_document", "show_plan", "summary"]


def summary(collection: ViewsCollection, *, lasting: str) -> str:
    """Describe the collection on one line; `lasting` describes its windows."""
    questions = collection.questions
    return (
        f"{quantity(len(collection.attributes), 'attribute')} in "
        f"{quantity(len(questions.questions), 'view')}, each user asked about one at "
        f"epsilon {shown_epsilon(questions.epsilon)}, {questions.bits} bits a report, "
        f"{quantity(len(collection.estimates), 'estimate')}, {lasting}"
    )


def plan_document(planned: Plan) -> dict[str, object]:
    """Return the plan as plain data, for JSON."""
    return asdict(planned) | {
        "design": _document(planned.design),
        "others": [_document(each) for each in planned.others],
        "relations": [_document(each) for each in planned.relations],
    }


def _document(design: DesignPlan | Relation) -> dict[str, Any]:
    return asdict(design) | {"avd": error_documents(design.avd, error="avd")}


def show_plan(planned: Plan) -> None:
    """Print the plan."""
    console = Console(highlight=False)
    print_head(console, planned)
    console.print(
        f"Epsilon {shown_epsilon(planned.epsilon)} for all reports of a user for ever, who tells one view: between "
        f"any two records, and {shown_epsilon(planned.attribute_epsilon)} for those that differ in one attribute; "
        f"{shown_epsilon(planned.changed)} more for each other answer to what is asked.",
    )
    if planned.per_report < planned.epsilon:
        console.print(f"Epsilon {shown_epsilon(planned.per_report)} of one report, whose noise is partly fresh.")
    designs = [planned.design, *planned.others]
    table = Table(
        "design",
        "views",
        "cells",
        *(f"{users:,} users" for users, _ in planned.design.avd),
        box=box.SIMPLE,
        title="Designs, with the AVD to expect of the joint distribution of two attributes",
        caption=f"The first is in use. Expected where pairs are {planned.dependence:g} from independent, on average.",
    )
    for each in designs:
        table.add_row(each.name, f"{each.views}", f"{each.largest}", *(f"{avd:.4f}" for _, avd in each.avd))
    print_whole(console, table)
    relations = Table(
        "mechanism",
        "equal epsilon",
        "of any two records",
        "of one attribute",
        *(f"{users:,} users" for users, _ in planned.design.avd),
        box=box.SIMPLE,
        title="What RR-LDP, by which users tell all attributes, would give in place of views",
        caption="Where whole records are to be hidden, compare the first two rows; where single attributes are, the "
        "first and the last. See `kind: rr-ldp`.",
    )
    epsilon = shown_epsilon(planned.epsilon)
    relations.add_row(
        "views",
        "",
        epsilon,
        shown_epsilon(planned.attribute_epsilon),
        *(f"{avd:.4f}" for _, avd in planned.design.avd),
    )
    for relation in planned.relations:
        relations.add_row(
            relation.mechanism,
            f"of {'any two records' if relation.equal == 'record' else 'one attribute'}",
            shown_epsilon(relation.record_epsilon),
            shown_epsilon(relation.attribute_epsilon),
            *(f"{avd:.4f}" for _, avd in relation.avd),
        )
    console.print(relations)
    console.print(_verdict(planned))


def _verdict(planned: Plan) -> str:
    """Say which of both is expected to be better for each relation, with the most users of the plan."""
    users, views = planned.design.avd[-1]
    record, attribute = (dict(each.avd)[users] for each in planned.relations)
    return (
        f"With {users:,} users: to hide whole records, {'views' if views <= record else 'rr-ldp'}; to hide single "
        f"attributes, {'views' if views <= attribute else 'rr-ldp'}."
    )
