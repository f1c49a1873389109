"""The section of a plan about the turns of users: how often one comes, and what any w windows cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_ldp.collection import shown_duration
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pipeline.plan import Section

if TYPE_CHECKING:
    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.answer import WEvent


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
