"""How long a budget lasts, as a table and as JSON."""

from __future__ import annotations

import json
import math
from io import StringIO

import pytest
from rich.console import Console

from stream_ldp.cli.displays.budgets import budget_documents, budget_table, number
from stream_ldp.pipeline.budgets import BudgetPlan


def shown(budget: BudgetPlan) -> str:
    console = Console(file=(file := StringIO()), width=120, color_system=None)
    console.print(budget_table([budget], of="reports"))
    return " ".join(file.getvalue().split())


@pytest.mark.parametrize(
    ("times", "days", "told"),
    [
        (math.inf, math.inf, "4 all, for ever for ever"),
        (0, 0.0, "4 0 not at all"),
        (1, 10 / 86_400, "4 1 10 seconds"),
        (3, 90 / 86_400, "4 3 90 seconds"),
        (1, 0.1, "4 1 2.4 hours"),
        (1_234, 1.5, "4 1,234 36 hours"),
        (2, 100.0, "4 2 100 days"),
        (2, 1_000.0, "4 2 2.7 years"),
    ],
)
def test_a_budgets_time_is_told_in_a_unit_of_its_size(times: float, days: float, told: str) -> None:
    assert shown(BudgetPlan(budget=4.0, times=times, days=days)).endswith(told)


def test_a_budget_that_lasts_for_ever_is_valid_json() -> None:
    (document,) = budget_documents([BudgetPlan(budget=8.0, times=math.inf, days=math.inf)])
    assert json.loads(json.dumps(document, allow_nan=False)) == {"budget": 8.0, "times": "inf", "days": "inf"}


@pytest.mark.parametrize(("value", "written"), [(8_640.0, "8,640"), (14.4, "14"), (2.666, "2.7"), (0.0144, "0.014")])
def test_a_number_of_times_has_no_needless_digits(value: float, written: str) -> None:
    assert number(value) == written
