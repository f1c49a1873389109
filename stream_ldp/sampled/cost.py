"""The cost of an answer to a user."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from pydantic import Field

from stream_ldp.collection import Part
from stream_ldp.mechanisms.privacy_loss import round_up

__all__ = ["AnswerCost"]


class AnswerCost(Part):
    """The privacy loss of one user's permanent answers to a question, as a ledger keeps it.

    epsilon: of one answer, in nats.
    """

    kind: Literal["sampled"] = "sampled"
    epsilon: float = Field(gt=0, allow_inf_nan=False)

    def responses_loss(self, *, responses: int, reports: int) -> float:  # noqa: ARG002
        """Return the loss of so many answers: one that is repeated reveals nothing more. It is never rounded down."""
        return round_up(responses * Fraction(self.epsilon))
