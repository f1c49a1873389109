"""The terms to which a user has agreed, and the refusals of reports that do not keep to them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from stream_ldp.collection.collection import DAY_MS
from stream_ldp.errors import ParameterError, StreamLDPError
from stream_ldp.mechanisms.privacy_loss import UNCHANGED, shown_epsilon
from stream_ldp.quantity import nats, quantity

#: Lifetime budget in nats if nobody chose one. The best guess between two records or sets, from 50:50, is then never
#: more than 1 / (1 + e^-4), 98.2 %, right, whatever else the user is asked.
DEFAULT_BUDGET = 4.0

#: Most days of a budget that renews: ten years, longer than any collection of a stream.
MAX_SPAN_DAYS = 3_660


class Assumption(StrEnum):
    """An assumption about a user's values, on which the promise of a ledger's epsilon rests.

    Notation: eps(t) is the mechanism's epsilon of t reports of one attribute that does not change, and eps(inf) its
    lifetime epsilon of all reports.
    """

    CONSTANT = "constant"
    """The user's record never changes. T reports lose eps(T) in each attribute, and never more than eps(inf).

    A set that is memoised counts as a record, and its sign as the one attribute. No reports distinguish two records
    by more than that.
    """

    VALUES = "values"
    """Each attribute of the user has at most v values over all reports.

    Let one user have the attribute values x_1, ..., x_T and another y_1, ..., y_T, with changes at the same times:
    x_s = x_t exactly if y_s = y_t. Then the reports fall into k <= v blocks of equal values. The blocks of each user
    show different permanent responses, which are independent, and both records are constant within a block b of t_b
    reports. So the loss is at most eps(t_1) + ... + eps(t_k), and it is that much where all values differ. As eps(t)
    is concave, it is largest when the T reports are shared out evenly over the k values. This largest loss is what
    the ledger charges, and it is never more than v eps(inf).

    When a value changes, and when it returns, is NOT protected: a permanent response that comes again shows it. The
    loss that distinguishes a user who changes from one who does not grows with every report, beyond any multiple of
    eps(inf). `Enumeration.changing_epsilon` finds it for a few reports; `FRESH` bounds it.
    """

    FRESH = "fresh"
    """Nothing is assumed: values may change in any way. Every report shows permanent responses that are drawn anew.

    The reports are then independent, and T of them lose T eps(1) in each attribute (sequential composition; Dwork
    and Roth, 2014, theorem 3.14). This does not hold for a client that memoises: what two reports share reveals more.
    """

    @property
    def promise(self) -> str:
        """The users whom the reports do not distinguish by more than epsilon, in words."""
        match self:
            case Assumption.CONSTANT:
                return f"any two records, if {UNCHANGED}"
            case Assumption.VALUES:
                return "any two users whose values change at the same times; when they change is not hidden"
            case Assumption.FRESH:
                return "any two users, however their values change"


class ReportRefused(StreamLDPError, RuntimeError):
    """A report would reveal more than its user has agreed to. It has been neither counted nor sent."""


class BudgetExceeded(ReportRefused):
    """A report would cost more than is left of the budget.

    cost, left, budget: in nats.
    """

    #: Whether there is more of the budget on another day.
    renews: ClassVar[bool] = False

    def __init__(self, *, cost: float, left: float, budget: float) -> None:
        super().__init__(f"{_too_dear(cost, left)} of a budget of {budget:g}: nothing was sent")
        self.cost = cost
        self.left = left
        self.budget = budget


class DayBudgetExceeded(BudgetExceeded):
    """A report would cost more than is left of what a day may cost; the next day, UTC, has a budget of its own.

    cost, left, budget: in nats, the latter two of the day.
    """

    renews: ClassVar[bool] = True

    def __init__(self, *, cost: float, left: float, budget: float) -> None:
        super().__init__(cost=cost, left=left, budget=budget)
        self.args = (f"{_too_dear(cost, left)} of {budget:g} a day, until 00:00 UTC: nothing was sent",)


def _too_dear(cost: float, left: float) -> str:
    # The cost is rounded up and the rest down, or a report that exceeds it by little would look as if it fitted.
    left_shown = math.floor(left * 1_000) / 1_000
    return f"to report this would cost {shown_epsilon(cost)} nats of privacy, and {left_shown:.3f} are left"


class SpanBudgetExceeded(BudgetExceeded):
    """A report would cost more than is left of what some days that follow each other may cost.

    cost, left, budget: in nats, the latter two of the days.
    """

    renews: ClassVar[bool] = True

    def __init__(self, *, cost: float, left: float, budget: float, days: int) -> None:
        super().__init__(cost=cost, left=left, budget=budget)
        self.args = (f"{_too_dear(cost, left)} of {budget:g} in any {quantity(days, 'day')}: nothing was sent",)


class TooManyValues(ReportRefused):
    """A report has one more value of an attribute than is assumed of its user. The message does not say which.

    That a report is missing reveals that the value has changed.
    """

    def __init__(self, *, attribute: str, most: int) -> None:
        had = "another value" if most == 1 else f"{most} other values"
        super().__init__(
            f"the answer about {attribute} has had {had} in earlier reports, and the user has agreed to no more: "
            "nothing was sent\n"
            "  -> if this user's values change: terms=Terms(assumption=Assumption.VALUES, max_values=N), or "
            "Assumption.FRESH, with change_terms=True; or `stream-ldp report --assume values --max-values N "
            "--change-terms`"
        )
        self.attribute = attribute


class LinkingRefused(ReportRefused):
    """A report would carry what links it to others of its user, as a pseudonym does, who has not agreed to that."""

    def __init__(self, *, collection: str) -> None:
        super().__init__(
            f"collection {collection!r} links the reports of a user, by a pseudonym or what is as good as one, and "
            "this user has not agreed to that: nothing was sent\n"
            "  -> if the user agrees: terms=Terms(..., linked=True), change_terms=True, or "
            "`stream-ldp report --linked --change-terms`"
        )
        self.collection = collection


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """The terms to which a user has agreed.

    budget: nats that all reports to all collections may cost in a lifetime; with math.inf, they are only counted.
    per_day: nats that all reports of one day, UTC, may cost; math.inf leaves it to the budget.
    per_span: nats that all reports of any `span_days` days that follow each other may cost, whenever they begin;
        math.inf leaves it to the others.
    span_days: number of those days, of 24 hours each; given with per_span, and only then.
    assumption: what is assumed of the user's values from now on.
    max_values: v, the number of values that an attribute may have under `Assumption.VALUES`, and only there.
    linked: whether reports may carry a pseudonym that the user keeps for a period, where a collection asks for it, or
        the seed of a user of strings, which is permanent. Epsilon is the same, since it holds for all reports of a
        user together; who reads them learns which are one user's. Reports with fresh noise carry neither.

    >>> Terms(budget=4.0, per_day=1.0).assumption.value
    'constant'
    >>> Terms(budget=math.inf, per_span=1.0, span_days=7).span_ms
    604800000

    Raises:
        ParameterError: a budget is not positive, or max_values is missing, not positive or does not belong there.
    """

    budget: float = DEFAULT_BUDGET
    per_day: float = math.inf
    per_span: float = math.inf
    span_days: int | None = None
    assumption: Assumption = Assumption.CONSTANT
    max_values: int | None = None
    linked: bool = False

    def __post_init__(self) -> None:
        for of, given in (("a lifetime", self.budget), ("a day", self.per_day), ("some days", self.per_span)):
            if not (isinstance(given, (int, float)) and given > 0):
                raise ParameterError(f"a budget of {of} is a positive number of nats, got {given!r}")
        if (self.span_days is not None) != (self.per_span < math.inf):
            raise ParameterError(
                "a budget of some days has a number of days, span_days, and nats, per_span: give both"
            )
        if self.span_days is not None and not 1 <= self.span_days <= MAX_SPAN_DAYS:
            raise ParameterError(f"the days of a budget are 1 to {MAX_SPAN_DAYS}, got span_days={self.span_days}")
        if (self.max_values is not None) != (self.assumption is Assumption.VALUES):
            raise ParameterError("the number of values that an attribute may have belongs to the assumption `values`")
        if self.max_values is not None and self.max_values < 1:
            raise ParameterError(f"an attribute has at least one value, got max_values={self.max_values}")

    @property
    def span_ms(self) -> int:
        """Length of the days that have a budget of their own, in milliseconds; 0 if none have."""
        return DAY_MS * (self.span_days or 0)

    @property
    def most_values(self) -> int:
        """Number of different values of one attribute that are memoised."""
        match self.assumption:
            case Assumption.CONSTANT:
                return 1
            case Assumption.VALUES:
                return self.max_values or 1
            case Assumption.FRESH:
                return 0

    @property
    def memoises(self) -> bool:
        """Whether equal values of a user show the same permanent response."""
        return self.assumption is not Assumption.FRESH

    def looser_than(self, agreed: Terms) -> tuple[str, ...]:
        """Return, in words, each respect in which these terms allow what the agreed ones do not; none if they do not.

        Neither fresh nor memoised responses are stricter than the other: a change between them is always one.
        """
        looser = []
        if self.budget > agreed.budget:
            looser.append(f"a budget of {self.budget:g} instead of {nats(agreed.budget)}")
        if self.per_day > agreed.per_day:
            looser.append(f"{self.per_day:g} instead of {nats(agreed.per_day)} a day")
        if self.per_span > agreed.per_span or (self.span_days or math.inf) < (agreed.span_days or 0):
            looser.append(f"{self._of_span} instead of {agreed._of_span}")
        if self.memoises is not agreed.memoises or self.most_values > agreed.most_values:
            looser.append(f"{self._of_values} instead of {agreed._of_values}")
        if self.linked and not agreed.linked:
            looser.append("reports that a pseudonym links instead of none")
        return tuple(looser)

    @property
    def _of_span(self) -> str:
        if self.span_days is None:
            return "no budget of some days"
        return f"{nats(self.per_span)} in any {quantity(self.span_days, 'day')}"

    @property
    def _of_values(self) -> str:
        many = "" if self.max_values is None else f" (at most {self.max_values})"
        return f"the assumption {self.assumption.value!r}{many}"
