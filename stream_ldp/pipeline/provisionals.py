"""The provisional answers of one series: which open windows get one, and when.

A round of them begins with the flush that comes about `every` after the one that the last round answered. By a clock
of its own, a round could come just before each flush, and its reports would wait for another `every`; so would those
of a round that has waited for other solves, if the next one came `every` after it. A round goes through the windows
with new reports, earliest first, until its allowance of time is spent: the rest is skipped, and its turn comes in a
later round. So solves that take long for `every` leave their collection time for its finals, and each other time to
run.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

from stream_ldp.pipeline.statistics.sending import FLUSH_SECONDS

if TYPE_CHECKING:
    from stream_ldp.collection import Series
    from stream_ldp.pipeline.merging import Merge
    from stream_ldp.pipeline.window_task import WindowTask

#: Part of the time between two steady flushes by which a round may begin before or after its time, to be with one.
_SLACK = 0.1

#: Share of the time that the solves of provisional answers of one series may take.
SHARE = 0.5


class Allowance:
    """An allowance of time, which grows by a share of the time that passes, up to a limit, and is spent.

    More may be spent than there is, since how long something takes is known when it is over; what was spent too much
    has to grow back. So all that is spent is within the share of the time, but for one limit and one excess. Times
    are seconds of one clock that never goes back.
    """

    def __init__(self, *, share: float, period_s: float, now: float) -> None:
        """Begin with the limit, which is what grows in one period.

        share: share of the time, in (0, 1].
        period_s: length of a period, in seconds.
        """
        self._share = share
        self._limit_s = share * period_s
        self._left_s = self._limit_s
        self._since = now

    def left_s(self, *, now: float) -> float:
        """Return what is left, in seconds; at most 0 if all of it is spent."""
        return min(self._limit_s, self._left_s + self._share * (now - self._since))

    def spend(self, seconds: float, *, now: float) -> None:
        """Note that so much has been spent."""
        self._left_s, self._since = self.left_s(now=now) - seconds, now


class Provisionals:
    """The provisional answers of one series. Times are seconds of one clock that never goes back.

    skipped: number of times that a window with new reports was left out of a round, for want of time.
    seconds: time that the last solve took; infinite before the first.
    """

    def __init__(self, merge: Merge, series: Series, *, now: float) -> None:
        """Begin without answers; a round may begin at once."""
        self.series = series
        self.skipped = 0
        self.seconds = math.inf
        self._merge = merge
        self._every_s = series.every_ms / 1_000
        self._slack_s = _SLACK * min(self._every_s, FLUSH_SECONDS)
        self._allowance = Allowance(share=SHARE, period_s=self._every_s, now=now)
        self._next_at = now
        self._round: deque[int] = deque()
        self._left_out: set[int] = set()
        self._has_answered = False
        # By the start of an open window: the number of reports in its last answer.
        self._answered: dict[int, int] = {}

    @property
    def due_at(self) -> float | None:
        """The time at which `next` has to be called again at the latest; None before reports come."""
        waiting = self._round or self._left_out or self._merge.has_changed(self.series)
        return self._next_at + self._slack_s if waiting else None

    def next(self, *, now: float, flushed_at: float) -> WindowTask[Any, Any] | None:
        """Return the task to be answered next; None if nothing is to be answered now.

        Call it when reports have come. Call `answer` when its answer is published, and then this again.

        flushed_at: when the newest reports came.
        """
        if not self._round:
            if self.due_at is None or now < self._next_at - self._slack_s:
                return None
            # What has waited for longer than `every` is no measure of when the next flush comes.
            self._next_at = self._every_s + (flushed_at if flushed_at > now - self._every_s else now)
            self._begin()
        while self._round:
            start = self._round.popleft()
            if not self._merge.is_open(start, self.series):
                continue
            task = self._merge.task(start, self.series, final=False)
            if task.reports <= self._answered.get(start, 0):
                continue
            if self._allowance.left_s(now=now) > 0:
                return task
            self._left_out = {start, *self._round}
            self._round.clear()
            self.skipped += len(self._left_out)
        return None

    def answer(self, task: WindowTask[Any, Any], *, seconds: float, now: float) -> None:
        """Note that a task was solved, by a solve that took so long."""
        self.seconds = seconds
        self._answered[task.window_ms] = task.reports
        # The first solve of a process has imports in it, of seconds that no other takes: it says nothing of the rest.
        if self._has_answered:
            self._allowance.spend(seconds, now=now)
        self._has_answered = True

    def _begin(self) -> None:
        self._round.extend(sorted(self._left_out.union(self._merge.changed(self.series))))
        self._left_out = set()
        self._answered = {
            start: reports for start, reports in self._answered.items() if self._merge.is_open(start, self.series)
        }
