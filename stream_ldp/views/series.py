"""The estimates of a collection of views: one series of answers each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pydantic import Field, model_validator

from stream_ldp.collection import Name, Part, PositiveDuration, Prior, require_distinct
from stream_ldp.pipeline.window_series import STATISTIC

if TYPE_CHECKING:
    from stream_ldp.collection import Window
    from stream_ldp.records.answer import Estimate


class ViewEstimateSpec(Part):
    """One joint distribution to estimate, a `stream_ldp.collection.Series`.

    name: name of the series of estimates.
    of: the attributes, in the order of the axes of the result.
    every_ms: time between two provisional estimates of an open window, in milliseconds.
    prior: what the estimate of a window is held against: nothing (`window`), or those of previous windows
        (`temporal`); by default `temporal` where it is possible.
    """

    name: Name
    of: tuple[str, ...] = Field(min_length=1)
    every_ms: PositiveDuration = Field(alias="every", default=2_000)
    prior: Prior | None = None

    @model_validator(mode="after")
    def _attributes_are_distinct(self) -> Self:
        require_distinct(self.of, f"attributes of estimate {self.name!r}", "of")
        return self

    def statistic(self, before: Estimate | None) -> tuple[str, ...]:  # noqa: ARG002
        """Name its statistic: the sums of the answers to all questions, the same for all estimates."""
        return STATISTIC

    def period_ms(self, window: Window) -> int:
        """Return the hop of the windows."""
        return window.pane_ms

    def follows(self, window_ms: int) -> tuple[str, None]:  # noqa: ARG002
        """Name the answer before: its own latest final, which is the prior of this one."""
        return self.name, None
