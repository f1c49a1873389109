"""The least number of users whose reports an answer is made of, where reports do not say whose they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.window_task import WindowTask


def fewest_users(collection: Collection, task: WindowTask[Any, Any]) -> int:
    """Bound from below the number of users who have reported, by what the collection states of them.

    Users with m reports each number at least (sum m)^2 / sum m^2 (Cauchy and Schwarz), which is the number of reports
    over `reports_per_user`. Where windows have a memory, this is about all that they remember, and a window has no
    more users than reports.
    """
    everything = sum(task.reports_by_window)
    return min(task.reports, math.floor(everything / collection.window.reports_per_user))
