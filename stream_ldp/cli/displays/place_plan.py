"""This module shows a collection of places on one line, and its plan as tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.displays.plan_text import error_documents, print_head
from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.mechanisms.privacy_loss import shown_epsilon

if TYPE_CHECKING:
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.places.plan import Plan

__all__ = ["plan_document", "show_plan", "summary"]


def summary(collection: PlaceCollection, *, lasting: str) -> str:
    """Describe the collection on one line; `lasting` describes its windows."""
    tree, epsilons = collection.tree, collection.mechanism_spec.epsilon
    return (
        f"{len(tree.places):,} places in {len(tree.regions):,} regions, each user told to be in one of the user's "
        f"choice, and hidden within it at epsilon {' or '.join(map(shown_epsilon, epsilons))}, "
        f"{collection.bits} bits a report, {lasting}"
    )


def plan_document(planned: Plan) -> dict[str, object]:
    """Return the plan as plain data, for JSON."""
    return asdict(planned) | {
        "regions": [asdict(each) | {"errors": error_documents(each.errors)} for each in planned.regions]
    }


def show_plan(planned: Plan) -> None:
    """Print the plan."""
    console = Console(highlight=False)
    print_head(console, planned)
    console.print(
        "Epsilon of all reports of a user for ever is the one that the user has chosen, for two users of the same "
        "region. The region and the epsilon are told as they are: they are not hidden.",
    )
    populations = [f"{users:,} users" for users, _ in planned.regions[0].errors]
    table = Table(
        "regions",
        "places",
        "epsilon",
        "response",
        *populations,
        box=box.SIMPLE,
        title="Regions, with the standard error of a place's count to expect",
        caption="If all users choose regions of this size and this epsilon, evenly.",
    )
    for each in planned.regions:
        errors = [f"{error:.4g}" for _, error in each.errors]
        table.add_row(f"{each.regions:,}", f"{each.places:,}", shown_epsilon(each.epsilon), each.mechanism, *errors)
    print_whole(console, table)
