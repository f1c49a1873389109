"""A receipt: what a report has shown of its user, for the user alone."""

import math
from dataclasses import dataclass

from stream_ldp.mechanisms.privacy_loss import shown_epsilon, shown_guess, surest_guess
from stream_ldp.quantity import quantity

#: Bytes of a report that a sentence shows.
_SHOWN_BYTES = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """What reports that are about to leave show of their user, and what is left of the budget.

    It holds no true value, and what leaves is perturbed; it is made for the user's eyes, so show it where the user is
    and neither send nor log it.

    collection: that they are made for.
    about: what they show with noise, such as the names of attributes; never a value.
    rows: the reports, as they leave; none where they have yet to be made.
    linked: whether they carry a mark that they are one user's.
    cost: nats that they have cost.
    spent: nats that all reports of the user to all collections have cost.
    budget: nats of the lifetime budget; infinite where they are only counted.
    promise: the two users whom the reports do not distinguish by more than `spent`, in words.
    """

    collection: str
    about: tuple[str, ...]
    rows: tuple[bytes, ...] = ()
    linked: bool
    cost: float
    spent: float
    budget: float
    promise: str

    @property
    def left(self) -> float:
        """Nats that are left of the budget, never more than there are."""
        return max(0.0, self.budget - self.spent)

    @property
    def surest(self) -> float:
        """The largest posterior of one of two records that were held for equally likely, after all reports so far."""
        return surest_guess(self.spent)

    def __str__(self) -> str:
        unbounded = math.isinf(self.budget)
        left = "there is no budget" if unbounded else f"{_down(self.left)} of {self.budget:g} are left"
        linked = " It shows which reports are yours." if self.linked else ""
        return (
            f"Sent to {self.collection}: {self._what}, with noise, about {_listed(self.about)}.{linked} "
            f"Cost: {shown_epsilon(self.cost)} nats; {left}. "
            f"Between two equally likely records, the best guess of yours is now {shown_guess(self.spent)} right."
        )

    @property
    def _what(self) -> str:
        if not self.rows:
            return "a report"
        first = self.rows[0]
        more = "..." if len(first) > _SHOWN_BYTES else ""
        shown = f"{quantity(len(first), 'byte')}, {first[:_SHOWN_BYTES].hex()}{more}"
        count = len(self.rows)
        return shown if count == 1 else f"{quantity(count, 'report')}, the first with {shown}"


def _listed(names: tuple[str, ...]) -> str:
    *others, last = names or ("nothing",)
    return f"{', '.join(others)} and {last}" if others else last


def _down(nats: float) -> str:
    return f"{math.floor(nats * 1_000) / 1_000:.3f}"
