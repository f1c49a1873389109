"""How long the budget of a user lasts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BUDGETS", "BudgetPlan", "affordable"]

#: Budgets of a user, in nats, of which a plan says how long they last.
BUDGETS = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetPlan:
    """How long a user's budget lasts.

    budget: in nats, for this collection alone.
    times: number of reports, or of epochs, that it pays for; math.inf for all that will ever be asked.
    days: until it is spent, on average over users; math.inf for ever.
    """

    budget: float
    times: float
    days: float


def affordable(cost: Callable[[float], float], *, budget: float) -> float:
    """Return how many reports, or epochs, a budget pays for; math.inf if it pays for all.

    cost: of so many, in nats, at least of one; of math.inf too. It never falls.
    """
    if cost(math.inf) <= budget:
        return math.inf
    paid, too_many = 0, 1
    while cost(too_many) <= budget:
        paid, too_many = too_many, 2 * too_many
    while too_many - paid > 1:
        middle = (paid + too_many) // 2
        if cost(middle) <= budget:
            paid = middle
        else:
            too_many = middle
    return paid
