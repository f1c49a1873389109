"""A budget pays for as much as it can, and for no more."""

import math

import pytest

from stream_ldp.kinds import parse_collection, w_event_of
from stream_ldp.mechanisms import RRLDP
from stream_ldp.pipeline.budgets import BudgetPlan, affordable, budget_section, times, turn_plan, turn_section


@pytest.mark.parametrize("budget", [0.5, 1.0, 2.0, 3.0, 6.0])
def test_a_budget_pays_for_as_many_reports_as_the_mechanism_says_and_no_more(budget: float) -> None:
    mechanism = RRLDP(sizes=(2, 3), f=0.5, p=0.5, q=0.75)
    paid = affordable(lambda reports: mechanism.epsilon(reports=reports), budget=budget)
    if math.isinf(paid):
        assert mechanism.epsilon(reports=math.inf) <= budget
        return
    assert paid == 0 or mechanism.epsilon(reports=paid) <= budget
    assert mechanism.epsilon(reports=paid + 1) > budget


@pytest.mark.parametrize(
    ("reports", "days", "row"),
    [
        (math.inf, math.inf, ("4", "unlimited", "unlimited")),
        (0, 0.0, ("4", "0", "no report")),
        (1, 10 / 86_400, ("4", "1", "10 seconds")),
        (3, 90 / 86_400, ("4", "3", "90 seconds")),
        (1, 0.1, ("4", "1", "2.4 hours")),
        (1_234, 1.5, ("4", "1,234", "36 hours")),
        (2, 100.0, ("4", "2", "100 days")),
        (2, 1_000.0, ("4", "2", "2.7 years")),
    ],
)
def test_a_budgets_time_is_reported_in_a_unit_of_its_size(reports: float, days: float, row: tuple[str, ...]) -> None:
    section = budget_section([BudgetPlan(budget=4.0, times=reports, days=days)], of="reports")
    assert section.rows == (row,)
    assert "reports that it pays for" in section.columns


@pytest.mark.parametrize(("value", "written"), [(8_640.0, "8,640"), (14.4, "14"), (2.666, "2.7"), (0.0144, "0.014")])
def test_a_number_of_times_has_no_needless_digits(value: float, written: str) -> None:
    assert times(value) == written


TEXT = """\
collection: care
mechanism: {kind: k-rr, epsilon: 1}
attributes: [{name: bathing, values: [no, yes]}]
window: {size: 1h}
estimates: [{name: bathing, of: [bathing]}]
rotate: 10
"""


def test_a_plan_compares_turns_with_dividing_the_epsilon() -> None:
    collection = parse_collection(TEXT)
    turns = turn_plan(collection, w_event_of(collection))
    assert (turns.windows, turns.every_ms) == (10, 36_000_000)
    assert turns.epsilon == 10 * turns.divided
    assert turn_section(turns).rows == (
        ("a user's turn comes", "once in 10h"),
        ("any 10 windows cost", "1.000"),
        ("in place of turns, each window would have", "0.100"),
    )
