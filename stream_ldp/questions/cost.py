"""The cost of an answer to a user."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from pydantic import Field

from stream_ldp.collection import Part
from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.mechanisms.privacy_loss import round_up
from stream_ldp.mechanisms.repeated import repeated_loss

__all__ = ["AnswerCost", "RepeatedCost"]


class AnswerCost(Part):
    """The privacy loss of one user's permanent answers to a question, as a ledger keeps it.

    epsilon: of one answer, in nats.
    """

    kind: Literal["sampled"] = "sampled"
    epsilon: float = Field(gt=0, allow_inf_nan=False)

    def responses_loss(self, *, responses: int, reports: int) -> float:  # noqa: ARG002
        """Return the loss of so many answers: one that is repeated reveals nothing more. It is never rounded down."""
        return round_up(responses * Fraction(self.epsilon))


class RepeatedCost(Part):
    """The privacy loss of reports that show permanent answers through fresh noise, as a ledger keeps it.

    It is stored as chances, in units of 2^-32, like `stream_ldp.sets.cost.SignCost`.

    size: number of values.
    permanent, fresh: chances that the permanent and the fresh response keep the value.
    """

    kind: Literal["repeated"] = "repeated"
    size: int = Field(ge=2)
    permanent: int = Field(gt=0, lt=RESOLUTION)
    fresh: int = Field(gt=0, lt=RESOLUTION)

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one answer, in nats; see `repeated_loss`."""
        return repeated_loss(self.permanent, self.fresh, size=self.size, reports=reports)

    def responses_loss(self, *, responses: int, reports: float) -> float:
        """Return the loss of several answers, each shown in so many reports, in nats; never rounded down."""
        return round_up(responses * Fraction(self.loss(reports=reports)))

    @property
    def is_concave(self) -> bool:
        """Whether each further report of an answer loses less than the one before it."""
        return self.loss(reports=2) <= 2 * self.loss(reports=1)
