"""The question that the pipeline asks about one window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from stream_ldp.collection import Series
from stream_ldp.pipeline.answer import AnswerT

if TYPE_CHECKING:
    from stream_ldp.pipeline.statistics import Statistic

__all__ = ["Question", "SeriesT"]

SeriesT = TypeVar("SeriesT", bound=Series)


@dataclass(frozen=True, kw_only=True, slots=True)
class Question(Generic[SeriesT, AnswerT]):
    """All that the answer to one window depends on.

    series: the series of answers that asks it.
    window_ms: start of the window, event time in milliseconds.
    final: whether the answer will be final.
    windows: (weight, counts to be added up) of the window itself, with weight 1, then of each remembered window.
    before: the final answer that this one starts from; None if there is none.
    """

    series: SeriesT
    window_ms: int
    final: bool
    windows: tuple[tuple[float, tuple[Statistic, ...]], ...]
    before: AnswerT | None

    @property
    def reports(self) -> int:
        """Number of reports in the window itself."""
        _, parts = self.windows[0]
        return sum(int(part.reports) for part in parts)
