"""This module shows a collection of item sets on one line, and its plan as tables."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from stream_ldp.cli.displays.budgets import budget_documents, budget_table, number
from stream_ldp.cli.displays.table_text import print_whole
from stream_ldp.collection import shown_duration
from stream_ldp.mechanisms.privacy_loss import UNCHANGED_SET, shown_epsilon
from stream_ldp.quantity import quantity
from stream_ldp.sets.methods.usual import MOST_EPSILON_OF_GFIM_USERS
from stream_ldp.sets.phases import Target, epoch_epsilon, epochs_epsilon

if TYPE_CHECKING:
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.plan import PhasePlan, Plan

__all__ = ["plan_document", "show_plan", "summary"]


def summary(collection: ItemCollection, *, lasting: str) -> str:
    """Describe the collection on one line; `lasting` describes its windows."""
    method, epsilon = collection.method, shown_epsilon(epoch_epsilon(collection.method))
    for_ever = epochs_epsilon(method, epochs=math.inf)
    memoised = "" if for_ever == math.inf else f", {shown_epsilon(for_ever)} for ever if a set does not change"
    return (
        f"{collection.items.count:,} items, {method.name} for the top {method.k}, "
        f"{collection.epochs} epochs of {quantity(len(method.phases), 'phase')} at epsilon {epsilon}"
        f"{memoised}, {lasting}"
    )


def plan_document(planned: Plan) -> dict[str, object]:
    """Return the plan as plain data, for JSON."""
    return asdict(planned) | {"budgets": budget_documents(planned.budgets)}


def show_plan(planned: Plan) -> None:
    """Print the plan."""
    console = Console(highlight=False)
    console.print(
        f"Collection {planned.collection}, fingerprint {planned.fingerprint}: {planned.method} for the top "
        f"{planned.k} of {planned.items:,} items.",
        markup=False,
    )
    if planned.usual is not None:
        console.print(_choice(planned.method, planned.usual), markup=False)
    console.print(
        f"An epoch has {quantity(len(planned.phases), 'phase')} and takes {shown_duration(planned.epoch_ms)}; epochs "
        f"are {planned.epochs}, with a result every {shown_duration(planned.result_every_ms)}.",
    )
    if planned.sample < 1.0:
        console.print(f"Each epoch asks {planned.sample:.2%} of the users, others at every time.", markup=False)
    table = Table("epochs that a user reports in", "epsilon at most", box=box.SIMPLE, title="Privacy of a whole set")
    for spent in planned.privacy:
        table.add_row(str(spent.epochs), shown_epsilon(spent.epsilon))
    if planned.for_ever is not None:
        table.add_row("all, for ever", shown_epsilon(planned.for_ever))
        table.caption = f"For more than one epoch: {UNCHANGED_SET}."
    print_whole(console, table)
    when = "a day on average" if planned.for_ever is None else "on the first day, and then less"
    console.print(
        f"A user who reports whenever asked spends {number(planned.nats_per_day)} nats {when}.",
        markup=False,
    )
    console.print(budget_table(planned.budgets, of="epochs"))

    table = Table(
        "phase",
        "users",
        "reports on",
        "epsilon",
        "response",
        "report",
        "state",
        box=box.SIMPLE,
        title="Each phase; the state is that of a window and source partition",
    )
    for phase in planned.phases:
        table.add_row(
            str(phase.number),
            f"{phase.part:.2g}" if planned.sample < 1.0 else f"{phase.part:.0%}",
            _question(phase),
            shown_epsilon(phase.epsilon),
            phase.oracle,
            f"{quantity(phase.bits, 'bit')}",
            decimal(phase.state_bytes),
        )
    print_whole(console, table)

    telling = [phase for phase in planned.phases if phase.errors]
    table = Table(
        "users",
        *(f"after phase {phase.number}" for phase in telling),
        box=box.SIMPLE,
        title="Standard error of a rare item's frequency / smallest frequency that differs clearly from 0",
        caption=None
        if len(telling) == 1
        else "Phase 1 decides what becomes a candidate; the last phase gives the result.",
    )
    for errors in zip(*(phase.errors for phase in telling), strict=True):
        shown = [f"{error.standard_error:.4f} / {_part(error.smallest)}" for error in errors]
        table.add_row(f"{errors[0].users:,}", *shown)
    print_whole(console, table)


def _choice(method: str, usual: str) -> str:
    boundary = f"epsilon {MOST_EPSILON_OF_GFIM_USERS:g}"
    why = {
        "gfim-users": f"up to {boundary}, it finds more than svim",
        "svim": f"above {boundary}, gfim-users finds less of some populations",
    }[usual]
    chosen = "A file without a kind of mechanism gets the same"
    if method != usual:
        chosen = f"A file without a kind of mechanism would get {usual}"
    return f"{chosen}: {why} where the size of sets is not known."


def _question(phase: PhasePlan) -> str:
    if phase.asked is Target.COUNT:
        return f"how many of {phase.items:,} candidates"
    return f"items of {phase.items:,}, l = {phase.padding}"


def _part(frequency: float) -> str:
    return f"{frequency:.4f}" if frequency < 1 else "above 1"
