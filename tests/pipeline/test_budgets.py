"""A budget pays for as much as it can, and for no more."""

from __future__ import annotations

import math

import pytest

from stream_ldp.mechanisms import RRLDP
from stream_ldp.pipeline.budgets import affordable


@pytest.mark.parametrize("budget", [0.5, 1.0, 2.0, 3.0, 6.0])
def test_a_budget_pays_for_as_many_reports_as_the_mechanism_says_and_no_more(budget: float) -> None:
    mechanism = RRLDP(sizes=(2, 3), f=0.5, p=0.5, q=0.75)
    paid = affordable(lambda reports: mechanism.epsilon(reports=reports), budget=budget)
    if math.isinf(paid):
        assert mechanism.epsilon(reports=math.inf) <= budget
        return
    assert paid == 0 or mechanism.epsilon(reports=paid) <= budget
    assert mechanism.epsilon(reports=paid + 1) > budget
