"""This module shows how long a user's budget lasts, as a table and as plain data."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.pipeline.budgets import BudgetPlan


__all__ = ["budget_documents", "budget_table", "number"]

_DAY_SECONDS = 86_400

#: Units of a duration in days, the longest first.
_UNITS = {"years": 365.0, "days": 1.0, "hours": 1 / 24, "minutes": 1 / 1_440, "seconds": 1 / _DAY_SECONDS}


def budget_table(budgets: Sequence[BudgetPlan], *, of: str) -> Table:
    """Show how long budgets last.

    of: what they pay for, in the plural.
    """
    table = Table("budget in nats", f"{of} that it pays for", "lasts, on average", box=box.SIMPLE)
    table.title = "How long a user's budget lasts, if nothing else is spent"
    for each in budgets:
        paid = "all, for ever" if math.isinf(each.times) else f"{int(each.times):,}"
        table.add_row(f"{each.budget:g}", paid, _lasting(each.days))
    return table


def budget_documents(budgets: Sequence[BudgetPlan]) -> list[dict[str, object]]:
    """Return budgets as plain data; JSON has no infinity."""
    return [
        {name: "inf" if math.isinf(value) else value for name, value in asdict(budget).items()} for budget in budgets
    ]


def number(value: float) -> str:
    """Write a number of times without needless digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _lasting(days: float) -> str:
    if math.isinf(days):
        return "for ever"
    if not days:
        return "not at all"
    unit, length = next(((unit, length) for unit, length in _UNITS.items() if days >= 2 * length), ("seconds", 1.0))
    return f"{number(days / length)} {unit}"
