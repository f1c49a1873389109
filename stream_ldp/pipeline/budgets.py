"""How long the budget of a user lasts, what turns of users cost, and the sections of a plan about these."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stream_ldp.collection import Collection, shown_duration
from stream_ldp.collection.collection import DAY_MS
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pipeline.answer import WEvent
from stream_ldp.pipeline.plan import Section
from stream_ldp.quantity import nats, quantity

#: Units of a duration in days, the longest first.
_UNITS = {"years": 365.0, "days": 1.0, "hours": 1 / 24, "minutes": 1 / 1_440, "seconds": 1 / 86_400}

#: Budgets of a user, in nats, whose duration a plan shows.
BUDGETS = (1.0, 2.0, 4.0, 8.0)

#: Days with a budget of their own; a plan shows how often a user may be asked in them.
SPANS = (1, 7, 30)


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetPlan:
    """How long a user's budget lasts.

    budget: in nats, for this collection alone.
    times: number of reports, or of epochs, that it pays for; math.inf for all that will ever be asked.
    days: until it is spent, on average over users; math.inf for all.
    """

    budget: float
    times: float
    days: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RenewingPlan:
    """How often a user may be asked whose budget renews.

    nats, days: at most so many nats in any so many days that follow each other.
    times: windows, or epochs, of those days in which the user can report with fresh noise.
    asked: those in which the user would be asked, on average over users.
    """

    nats: float
    days: int
    times: int
    asked: float


def renewing_plans(collection: Collection, *, per_turn: float) -> tuple[RenewingPlan, ...]:
    """Work out how often a user may be asked under budgets that renew.

    per_turn: what all reports of one window, or epoch, cost in nats, with fresh noise.
    """
    return tuple(
        RenewingPlan(
            nats=nats,
            days=days,
            times=math.floor(nats / per_turn),
            asked=days * DAY_MS / collection.turn_ms * collection.asked_share,
        )
        for days in SPANS
        for nats in BUDGETS
    )


def renewing_section(plans: Sequence[RenewingPlan]) -> Section:
    """Say how often a user may be asked."""
    return Section(
        title="How often a user may be asked if the budget renews",
        columns=("at most", "in any", "pays for, with fresh noise", "would be asked"),
        rows=tuple(
            (
                nats(each.nats),
                quantity(each.days, "day"),
                quantity(each.times, "report"),
                f"{times(each.asked)} times",
            )
            for each in plans
        ),
        notes=("Repeating a permanent response costs less than a fresh one.",),
    )


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


def budget_section(budgets: Sequence[BudgetPlan], *, of: str) -> Section:
    """Say how long budgets last.

    of: what they pay for, in the plural.
    """
    return Section(
        title="How long a lifetime budget lasts, if nothing else spends it",
        columns=("budget in nats", f"{of} that it pays for", "lasts, on average"),
        rows=tuple(
            (
                f"{budget.budget:g}",
                "unlimited" if math.isinf(budget.times) else f"{int(budget.times):,}",
                _lasting(budget.days),
            )
            for budget in budgets
        ),
    )


def times(value: float) -> str:
    """Write a number of times without needless digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _lasting(days: float) -> str:
    if math.isinf(days):
        return "unlimited"
    if not days:
        return "no report"
    unit, length = next(((unit, length) for unit, length in _UNITS.items() if days >= 2 * length), ("seconds", 1.0))
    return f"{times(days / length)} {unit}"


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnPlan:
    """The turns of the users of a collection.

    windows: w, or epochs of item sets; each user has a turn in one.
    every_ms: time from one turn of a user to the next, in milliseconds.
    epsilon: of any w windows that follow each other, in nats.
    divided: what each window would have if its users were those of all w, who divide the same epsilon, in nats.
    assumption: what the epsilon rests on, in words.
    """

    windows: int
    every_ms: int
    epsilon: float
    divided: float
    assumption: str


def turn_plan(collection: Collection, w_event: WEvent) -> TurnPlan:
    """Work out what the turns of a collection's users come to."""
    return TurnPlan(
        windows=w_event.windows,
        every_ms=w_event.windows * collection.turn_ms,
        epsilon=w_event.epsilon,
        divided=w_event.epsilon / w_event.windows,
        assumption=w_event.assumption,
    )


def turn_section(turns: TurnPlan) -> Section:
    """Say how often a user has a turn, and what that costs."""
    return Section(
        title="Turns of the users",
        rows=(
            ("a user's turn comes", f"once in {shown_duration(turns.every_ms)}"),
            (f"any {turns.windows} windows cost", shown_epsilon(turns.epsilon)),
            ("in place of turns, each window would have", shown_epsilon(turns.divided)),
        ),
        notes=(f"For {turns.assumption}.",),
    )
