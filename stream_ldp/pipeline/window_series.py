"""The series with one answer a window, made of all its reports, of collections which ask each user one question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_ldp.collection import Window

#: Name of the only statistic: the answers to all questions.
STATISTIC = ("answers",)


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowSeries:
    """The answers of one window after another, a `stream_ldp.collection.Series`.

    every_ms: time between two provisional answers of an open window, in milliseconds.
    """

    name: str
    every_ms: int

    def statistic(self, before: object) -> tuple[str, ...]:  # noqa: ARG002
        """Name its statistic, the same in every window."""
        return STATISTIC

    def period_ms(self, window: Window) -> int:
        """Return the hop of the windows."""
        return window.pane_ms

    def follows(self, window_ms: int) -> tuple[str, None]:  # noqa: ARG002
        """Name the answer before: its own latest final, which is the prior of this one."""
        return self.name, None
