"""What readers of final rankings alone could learn of a user's set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stream_ldp.mechanisms.shuffling import DELTA, composed_epsilon, shuffled_epsilon
from stream_ldp.pipeline.answer import Published
from stream_ldp.pipeline.published import anew
from stream_ldp.sets.phases import most_spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.sets.collection import ItemCollection

AS_MUCH = "another epoch costs as much again"


def published(collection: ItemCollection, reports: int, *, windows: int = 1) -> Published | None:
    """See `PublishedBound`; each phase has its share of the users, and somebody who reports."""
    of_phases = [max(1, round(reports * phase.part)) for phase in collection.method.phases]
    return published_of_phases(collection, of_phases, epochs=windows)


def published_of_phases(
    collection: ItemCollection, reports_per_phase: Sequence[int], *, epochs: int = 1
) -> Published | None:
    """State what readers of an epoch's final answers so far could learn of a user: that of each phase, added up.

    The sums of a phase do not depend on the order of its reports, and what the next phase asks follows from them. As
    in `published_among`, no other report hides permanent noise where users return.

    reports_per_phase: of each phase that has been answered.
    epochs: how many, each with so many reports.
    """
    phases, delta = collection.method.phases, collection.delta or DELTA
    memoised = any(phase.memoised for phase in phases)
    if epochs == 1 and memoised and collection.window.returning != 0.0:
        return None
    of_each = delta / len(phases)
    # A phase that nobody has reported to shows nothing.
    hidden = [
        replace(phase, epsilon=_epsilon(phase.epsilon, reports, delta=of_each, epochs=epochs) if reports else 0.0)
        for phase, reports in zip(phases, reports_per_phase, strict=False)
    ]
    what = "any two sets of items"
    return Published.among(
        " + ".join(f"{reports:,}" for reports in reports_per_phase),
        epsilon=most_spent(hidden),
        delta=delta,
        once="once to each phase" if epochs == 1 else anew(epochs, what="epochs", each="once to each phase"),
        hidden=what if memoised or epochs > 1 else f"{what}; {AS_MUCH}",
    )


def _epsilon(local: float, reports: int, *, delta: float, epochs: int) -> float:
    if epochs == 1:
        return shuffled_epsilon(local, reports=reports, delta=delta)
    return composed_epsilon(local, reports=reports, delta=delta, times=epochs)
