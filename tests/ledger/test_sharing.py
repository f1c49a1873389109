"""Tests that several responses of unknown numbers of reports are charged for the worst sharing, and not for more."""

import itertools
import math

import pytest

from stream_ldp.ledger.sharing import MAX_TIMES, worst_sharing
from stream_ldp.mechanisms.repeated import RepeatedCost, RepeatedResponse


def cost_of(epsilon: float, lifetime: float, size: int = 4) -> RepeatedCost:
    response = RepeatedResponse(size=size, epsilon=epsilon, lifetime=lifetime)
    return RepeatedCost(size=size, permanent=response.kept, fresh=response.fresh)


def sharings(responses: int, reports: int) -> list[tuple[int, ...]]:
    """All ways in which reports may show each of some responses."""
    every = itertools.combinations_with_replacement(range(1, reports + 1), responses)
    return [each for each in every if sum(each) == reports]


@pytest.mark.parametrize("cost", [cost_of(0.2, 6.0), cost_of(0.5, 2.0), cost_of(1.5, 3.0, size=16)])
@pytest.mark.parametrize(("responses", "reports"), [(1, 5), (2, 2), (2, 9), (3, 3), (3, 12), (4, 14)])
def test_the_charge_is_that_of_the_worst_sharing(cost: RepeatedCost, responses: int, reports: int) -> None:
    """By trying all of them."""
    worst = max(math.fsum(cost.loss(reports=times) for times in sharing) for sharing in sharings(responses, reports))
    charged = worst_sharing(cost, responses=responses, reports=reports)
    assert worst <= charged <= worst + 1e-9


def test_three_values_in_three_reports_cost_little_where_a_report_does() -> None:
    cost = cost_of(0.2, 6.0)
    assert not cost.is_concave
    assert worst_sharing(cost, responses=3, reports=3) == pytest.approx(0.6, abs=1e-6)
    assert 3 * cost.loss(reports=math.inf) == pytest.approx(18, abs=1e-6)


def test_many_reports_cost_what_they_cost_for_ever() -> None:
    cost = cost_of(0.2, 6.0)
    lifetime = 3 * cost.responses_loss(responses=1, reports=math.inf)
    assert worst_sharing(cost, responses=3, reports=10**9) == pytest.approx(lifetime, rel=1e-12)
    assert worst_sharing(cost, responses=3, reports=10**9) >= lifetime


def test_more_reports_never_cost_less_and_those_beyond_the_most_are_charged_for_ever() -> None:
    cost = cost_of(0.05, 1.0)
    charged = [worst_sharing(cost, responses=2, reports=reports) for reports in range(2, 3 * MAX_TIMES)]
    assert charged == sorted(charged)
    assert charged[MAX_TIMES] >= cost.loss(reports=math.inf)
