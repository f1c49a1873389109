"""What is asked of one window."""

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

    window_ms: its start, event time in milliseconds.
    windows: (weight, counts to be added up) of the window itself, weight 1, and, with memory, of those remembered.
    before: the final answer that this one starts from; None where there is none.
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
