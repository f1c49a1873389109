"""The cost of a user's permanent response to a phase, which all reports to it show."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from pydantic import Field

from stream_ldp.collection import Part
from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.mechanisms.privacy_loss import round_up
from stream_ldp.mechanisms.repeated import repeated_loss

__all__ = ["SignCost"]


class SignCost(Part):
    """The privacy loss of reports that show a permanent sign through fresh noise, as a ledger keeps it.

    It is stored as chances, in units of 2^-32, and not asked of the method again: a release may round them in
    another way, and must not change what was spent.

    permanent, fresh: chances that the permanent and the fresh response keep the sign.
    """

    kind: Literal["loloha"] = "loloha"
    permanent: int = Field(gt=RESOLUTION // 2, lt=RESOLUTION)
    fresh: int = Field(gt=RESOLUTION // 2, lt=RESOLUTION)

    def loss(self, *, reports: float) -> float:
        """Return the loss of so many reports that show one sign, in nats; see `repeated_loss`."""
        return repeated_loss(self.permanent, self.fresh, reports=reports)

    def responses_loss(self, *, responses: int, reports: float) -> float:
        """Return the loss of several signs, each shown in so many reports, in nats; never rounded down."""
        return round_up(responses * Fraction(self.loss(reports=reports)))
