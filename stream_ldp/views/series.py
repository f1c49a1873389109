"""The estimates of a collection of views: one series of answers each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline.window_series import STATISTIC
from stream_ldp.records.series import JointSpec

if TYPE_CHECKING:
    from stream_ldp.records.answer import Estimate


class ViewEstimateSpec(JointSpec):
    """One joint distribution to estimate, a `stream_ldp.collection.Series`."""

    def statistic(self, before: Estimate | None) -> tuple[str, ...]:  # noqa: ARG002
        """Name its statistic: the sums of the answers to all questions, the same for all estimates."""
        return STATISTIC
