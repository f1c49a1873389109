"""What the pipeline asks a kind to solve: one window of one series."""

import math
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_ldp.collection import AUTO_PERIOD, Collection, Series
from stream_ldp.collection.collection import Window
from stream_ldp.pipeline.answer import AnswerT, RegionPart, WindowBounds
from stream_ldp.pipeline.statistics import ReportSums, Statistic, merged

SeriesT = TypeVar("SeriesT", bound=Series)
StatisticT = TypeVar("StatisticT", bound="Statistic")


@dataclass(eq=False, slots=True)
class Scratch:
    """What a solve leaves to the next one of the same window: in memory alone, and no answer depends on it.

    left: an immutable value, replaced as a whole: a solve that nobody waits for any more may run beside the next.
    """

    left: Any = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowTask(Generic[SeriesT, AnswerT]):
    """All that the answer to one window depends on.

    series: the series of answers that asks it.
    window_ms: start of the window, event time in milliseconds.
    final: whether the answer will be final.
    windows: (weight, counts to be added up) of the window itself, with weight 1, then of each remembered window.
    before: the final answer that this one starts from; None if there is none.
    silent_until_ms: end of the last of several windows without reports that begin with this one; None for a window
        with reports.
    sources: what each region has counted; None where there are no regions.
    scratch: what the last solve of the window has left.
    """

    series: SeriesT
    window_ms: int
    final: bool
    windows: tuple[tuple[float, tuple[Statistic, ...]], ...]
    before: AnswerT | None
    silent_until_ms: int | None = None
    sources: tuple[RegionPart, ...] | None = None
    scratch: Scratch = field(default_factory=Scratch, compare=False, repr=False)

    def head(self, collection: Collection) -> dict[str, Any]:
        """Return the fields of an answer that say which window of which collection it answers."""
        end_ms = self.window_ms + collection.window.size_ms
        return {
            "collection": collection.name,
            "fingerprint": collection.fingerprint.hex(),
            "window": WindowBounds(start_ms=self.window_ms, end_ms=end_ms),
            "final": self.final,
            "reports": self.reports,
        }

    @property
    def reports(self) -> int:
        """Number of reports in the window itself."""
        return self.reports_by_window[0]

    @property
    def reports_by_window(self) -> tuple[int, ...]:
        """Number of reports in the window itself, then in each remembered one."""
        return tuple(sum(int(part.reports) for part in parts) for _, parts in self.windows)

    @property
    def earlier(self) -> AnswerT | None:
        """The previous final, if it is of an earlier window: neither a window itself nor a later one is its prior."""
        before = self.before
        return None if before is None or before.window.start_ms >= self.window_ms else before

    def elapsed(self, size_ms: int) -> int:
        """Return the number of windows of this size since the previous final, at least 1."""
        before = self.before
        return 1 if before is None else max(1, (self.window_ms - before.window.start_ms) // size_ms)

    def forgotten(self, window: Window) -> int:
        """Return by how many windows what the previous final has learnt of the drift is older: see `Drift.learn`.

        Where a period is sought, the finals until it is found have learnt from windows of another sort, and that
        numbers jump. So all windows since the previous final count, and that is soon forgotten.
        """
        return self.elapsed(window.size_ms) if window.period_ms == AUTO_PERIOD else 1

    def counts(self, statistic: type[StatisticT]) -> tuple[tuple[float, tuple[StatisticT, ...]], ...]:
        """Return `windows`, all of whose counts are of one type.

        Raises:
            TypeError: one of them is of another type; left out, its reports would be lost silently.
        """
        return tuple(
            (weight, tuple(self._as(statistic, part) for part in merged(parts))) for weight, parts in self.windows
        )

    def _as(self, statistic: type[StatisticT], part: Statistic) -> StatisticT:
        if not isinstance(part, statistic):
            raise TypeError(
                f"{self.series.name} is answered from {statistic.__name__}, and its window of {self.window_ms} ms "
                f"holds {type(part).__name__}"
            )
        return part


def fewest_users(collection: Collection, task: WindowTask[Any, Any]) -> int:
    """Bound from below the number of users who have reported, by what the collection states of them.

    Users with m reports each number at least (sum m)^2 / sum m^2 (Cauchy and Schwarz), which is the number of reports
    over `reports_per_user`. Where windows have a memory, this is about all that they remember, and a window has no
    more users than reports.
    """
    everything = sum(task.reports_by_window)
    return min(task.reports, math.floor(everything / collection.window.reports_per_user))


def weighted_sums(task: WindowTask[Any, Any], *, counters: int) -> list[tuple[float, NDArray[np.int64]]]:
    """Add up the parts of each window of a task whose statistic is sums, the window that is asked about first.

    counters: number of sums; those of a window without reports are 0.

    Returns:
        The weight of each window, and its sums, int64, shape (counters,).

    Raises:
        TypeError: a part of the task holds no sums.
    """
    return [(weight, ReportSums.sum(parts, counters=counters).values) for weight, parts in task.counts(ReportSums)]
