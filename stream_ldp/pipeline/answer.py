"""What all answers of the service have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.records.answer import Plausibility

if TYPE_CHECKING:
    from stream_ldp.mechanisms import plausibility

__all__ = ["told"]


def told(likeness: plausibility.Plausibility) -> Plausibility:
    """What an answer says of it."""
    return Plausibility(
        statistic=likeness.statistic,
        degrees_of_freedom=likeness.degrees_of_freedom,
        p_value=likeness.p_value,
        flagged=likeness.flagged,
    )
