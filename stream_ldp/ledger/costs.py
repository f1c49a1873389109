"""What permanent responses lose, once shown: the costs that a ledger keeps, each of which computes its own loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Literal

from pydantic import Field

from stream_ldp.collection import Part
from stream_ldp.mechanisms import RESOLUTION, AnyMechanismSpec
from stream_ldp.mechanisms.privacy_loss import round_up
from stream_ldp.mechanisms.repeated import repeated_loss

__all__ = ["AnswerCost", "RepeatedCost", "ReportCost", "SignCost"]


class AnswerCost(Part):
    """The privacy loss of one user's permanent answers to a question.

    epsilon: of one answer, in nats.
    """

    kind: Literal["sampled"] = "sampled"
    epsilon: float = Field(gt=0, allow_inf_nan=False)

    def responses_loss(self, *, responses: int, reports: float) -> float:  # noqa: ARG002
        """See `MechanismSpec.responses_loss`: an answer that is repeated reveals nothing more."""
        return round_up(responses * Fraction(self.epsilon))

    @property
    def is_concave(self) -> bool:
        """See `MechanismSpec.is_concave`."""
        return True


class _ShownThroughNoise(Part, ABC):
    """The privacy loss of reports that show permanent responses through fresh noise.

    It is stored as chances, in units of 2^-32, and not asked of the mechanism again: a release may round them in
    another way, and must not change what was spent.
    """

    @abstractmethod
    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one response, in nats; see `repeated_loss`."""

    def responses_loss(self, *, responses: int, reports: float) -> float:
        """See `MechanismSpec.responses_loss`."""
        return round_up(responses * Fraction(self.loss(reports=reports)))

    @property
    def is_concave(self) -> bool:
        """See `MechanismSpec.is_concave`."""
        return self.loss(reports=2) <= 2 * self.loss(reports=1)


class RepeatedCost(_ShownThroughNoise):
    """The privacy loss of reports that show the permanent value of a list through fresh noise.

    size: number of values.
    permanent, fresh: chances that the permanent and the fresh response keep the value.
    """

    kind: Literal["repeated"] = "repeated"
    size: int = Field(ge=2)
    permanent: int = Field(gt=0, lt=RESOLUTION)
    fresh: int = Field(gt=0, lt=RESOLUTION)

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one value, in nats; see `repeated_loss`."""
        return repeated_loss(self.permanent, self.fresh, size=self.size, reports=reports)


class SignCost(_ShownThroughNoise):
    """The privacy loss of reports that show a permanent sign through fresh noise.

    permanent, fresh: chances that the permanent and the fresh response keep the sign.
    """

    kind: Literal["loloha"] = "loloha"
    permanent: int = Field(gt=RESOLUTION // 2, lt=RESOLUTION)
    fresh: int = Field(gt=RESOLUTION // 2, lt=RESOLUTION)

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one sign, in nats; see `repeated_loss`."""
        return repeated_loss(self.permanent, self.fresh, reports=reports)


#: What a report costs: the parameters of a mechanism for records, or the chances of a permanent response.
ReportCost = AnyMechanismSpec | AnswerCost | RepeatedCost | SignCost
