"""The only series of answers of a collection of strings: the ranking of each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_ldp.collection import Window
    from stream_ldp.strings.answer import StringRanking

__all__ = ["STATISTIC", "StringSeries"]

#: Name of the only statistic: the answers themselves.
STATISTIC = ("answers",)


@dataclass(frozen=True, kw_only=True, slots=True)
class StringSeries:
    """The rankings, window by window, a `stream_ldp.collection.Series`.

    every_ms: time between two provisional answers of an open window, in milliseconds.
    """

    name: str = "strings"
    every_ms: int

    def statistic(self, before: StringRanking | None) -> tuple[str, ...]:  # noqa: ARG002
        """Name its statistic, the same in every window."""
        return STATISTIC

    def period_ms(self, window: Window) -> int:
        """Return the hop of the windows."""
        return window.pane_ms

    def follows(self, window_ms: int) -> tuple[str, None]:  # noqa: ARG002
        """Name the answer before: its own latest final, which is the prior of this one."""
        return self.name, None
