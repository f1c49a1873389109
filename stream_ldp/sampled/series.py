"""The only series of answers of a sampled collection: the marginals of each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_ldp.collection import Window
    from stream_ldp.sampled.answer import Marginals

__all__ = ["STATISTIC", "MarginalSeries"]

#: Name of the only statistic: the sums of the answers to all questions.
STATISTIC = ("answers",)


@dataclass(frozen=True, kw_only=True, slots=True)
class MarginalSeries:
    """The marginals of all attributes, window by window, a `stream_ldp.collection.Series`.

    every_ms: time between two provisional answers of an open window, in milliseconds.
    """

    name: str = "marginals"
    every_ms: int

    def statistic(self, before: Marginals | None) -> tuple[str, ...]:  # noqa: ARG002
        """Name its statistic, the same in every window."""
        return STATISTIC

    def period_ms(self, window: Window) -> int:
        """Return the hop of the windows."""
        return window.pane_ms

    def follows(self, window_ms: int) -> tuple[str, None]:  # noqa: ARG002
        """Name the answer before: its own latest final, which is the prior of this one."""
        return self.name, None
