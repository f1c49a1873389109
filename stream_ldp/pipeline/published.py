"""What readers of the final answer to one window, who see no report, could learn of one user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.mechanisms.shuffling import DELTA, shuffled_epsilon
from stream_ldp.pipeline.answer import Published

if TYPE_CHECKING:
    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.window_task import WindowTask


def published_of_window(
    task: WindowTask[Any, Any], collection: Collection, *, epsilon: float, inputs: str
) -> Published | None:
    """State what readers of a window's final answers could learn of a user; None where it is not known.

    The theorem is about reports of different users, each counted once. So it does not cover users who report several
    times in a window, windows that share reports, answers that remember earlier windows, and provisional ones, whose
    differences are sums of a few reports. What permanent noise shows over several windows is beyond it, too.

    It is stated for the users of the window alone. A prior of the windows before makes an answer a function of their
    reports, too; what it shows of their users is bounded by the number of reports of their own windows.

    epsilon: of one report, in nats.
    inputs: what is not distinguished, in words, such as `any two records`.
    """
    window, delta = collection.window, collection.delta or DELTA
    if not task.final or not task.reports or window.reports_per_user > 1 or window.panes > 1 or window.memory:
        return None
    return Published(
        epsilon=shuffled_epsilon(epsilon, reports=task.reports, delta=delta),
        delta=delta,
        assumption=f"{inputs}; about users who report in this window, for readers of its final answers alone who "
        "trust the service; a user reports once",
    )
