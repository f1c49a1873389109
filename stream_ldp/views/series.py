"""The estimates of a collection of views: one series of answers each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from stream_ldp.collection import PositiveDuration, Prior, Window
from stream_ldp.pipeline.window_series import STATISTIC
from stream_ldp.records.series import JointSpec

if TYPE_CHECKING:
    from stream_ldp.records.answer import Estimate


class ViewEstimateSpec(JointSpec):
    """One joint distribution to estimate, a `stream_ldp.collection.Series`.

    every_ms: time between two provisional estimates of an open window, in milliseconds.
    prior: what the estimate of a window is held against: nothing (`window`), or those of previous windows
        (`temporal`); by default `temporal` where it is possible.
    """

    every_ms: PositiveDuration = Field(alias="every", default=2_000)
    prior: Prior | None = None

    def statistic(self, before: Estimate | None) -> tuple[str, ...]:  # noqa: ARG002
        """Name its statistic: the sums of the answers to all questions, the same for all estimates."""
        return STATISTIC

    def period_ms(self, window: Window) -> int:
        """Return the hop of the windows."""
        return window.pane_ms

    def follows(self, window_ms: int) -> tuple[str, None]:  # noqa: ARG002
        """Name the answer before: its own latest final, which is the prior of this one."""
        return self.name, None
