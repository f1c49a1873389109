"""What readers of the final answer to one window, who see no report, could learn of one user."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from stream_ldp.mechanisms.shuffling import DELTA, shuffled_epsilon
from stream_ldp.pipeline.answer import Published

if TYPE_CHECKING:
    from stream_ldp.collection import Collection
    from stream_ldp.mechanisms.plausibility import PlausibilityTest
    from stream_ldp.pipeline.window_task import WindowTask

#: A condition where each user is asked one of several questions, which stays the same: a reader who knew it would
#: look for the user among those of the same question alone.
UNKNOWN_QUESTION = "which question the user was asked is not known to them"


def published_of_window(
    task: WindowTask[Any, Any],
    collection: Collection,
    *,
    epsilon: float,
    for_ever: float,
    hidden: str,
    plausibility: PlausibilityTest,
) -> Published | None:
    """State what readers of a window's final answers could learn of a user; None where it is not known.

    The theorem is about reports of different users, each counted once. So it does not cover users who report several
    times in a window, windows that share reports, answers that remember earlier windows, and provisional ones, whose
    differences are sums of a few reports. Users who return with the same noise are beyond it, too: two windows of the
    same users but one differ by the report of that one. So of permanent noise it is stated only where the file says
    that nobody returns. Nor is it stated where some reports do not look honest, since these hide nobody.

    It is stated for the users of the window alone. A prior of the windows before makes an answer a function of their
    reports, too; what it shows of their users is bounded by the number of reports of their own windows.

    epsilon, for_ever: of one report and of any number, in nats; if the latter is infinite, no noise is permanent.
    hidden: what is not distinguished, in words, such as `any two records`.
    plausibility: whether the reports look honest.
    """
    window, delta = collection.window, collection.delta or DELTA
    returns = window.returning != 0.0 and for_ever < math.inf
    if not task.final or not task.reports or returns or plausibility.flagged:
        return None
    if window.reports_per_user > 1 or window.shares_reports:
        return None
    return Published.among(
        f"{task.reports:,}",
        epsilon=shuffled_epsilon(epsilon, reports=task.reports, delta=delta),
        delta=delta,
        hidden=hidden if for_ever < math.inf else f"{hidden}; another window costs as much again",
    )
