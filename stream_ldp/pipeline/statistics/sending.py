"""The decision when statistics are flushed, and whether one that has changed is worth sending."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.collection import Series

#: The most and the least seconds between two looks at what has come, by which a final can be later than its window: a
#: flush that lets windows close waits for nothing else.
LOOK_SECONDS, LEAST_FLUSH_SECONDS = 0.5, 0.25

#: Looks in the shortest `every` of a collection, if that is within these bounds.
LOOKS = 4

#: The most seconds between two flushes of what comes steadily, or the shortest `every` if that is less: nobody sees
#: more of them. Each takes three round trips to the brokers, some 20 ms, in which nothing is counted. Its records are
#: read and merged: under a light load that is most of what a worker does. After a kill, as much is read again.
FLUSH_SECONDS = 2.0

#: Records since the last look with which every look flushes: to count so many takes as long as a flush. So under a
#: heavy load answers are as fresh as the looks allow, and little is read again after a kill.
LOOK_RECORDS = 1_000

#: Bytes of a record of partials beside its statistics, whose key and header name the collection, the pane and the
#: writer; and those of the name and the place of each statistic.
RECORD_BYTES, STATISTIC_BYTES = 280, 25

#: A statistic of at most this many bytes in memory is sent whenever it has changed, a few KB with each flush.
SMALL_BYTES = 2**16

#: A larger one waits until its reports are a tenth more: a pane of a million reports sends it a hundred times,
#: and not with every flush.
GROWTH = 1.1

#: Yet it waits for no more flushes than this, ten seconds at most: with few reports, a tenth takes long.
PATIENCE = 5


class Sending:
    """What has been sent of one growing statistic."""

    def __init__(self, nbytes: int) -> None:
        """Begin with nothing sent.

        nbytes: size of the statistic in memory.
        """
        self._small = nbytes <= SMALL_BYTES
        self._reports = 0
        self._looks = 0

    def is_due(self, reports: int, *, closing: bool) -> bool:
        """Decide whether to send it now, and take it for sent if it is to be.

        reports: number of its reports by now.
        closing: whether this is the last look, which must leave out no report.
        """
        if reports == self._reports:
            return False
        self._looks += 1
        due = self._small or closing or reports >= GROWTH * self._reports or self._looks >= PATIENCE
        if due:
            self.note_sent(reports)
        return due

    def note_sent(self, reports: int) -> None:
        """Take it for sent with so many reports."""
        self._reports, self._looks = reports, 0


def look_seconds(series: Iterable[Series]) -> float:
    """Return the seconds between two looks at the reports to a collection of these series."""
    return max(LEAST_FLUSH_SECONDS, min(LOOK_SECONDS, _every_seconds(series) / LOOKS))


def flush_seconds(series: Iterable[Series]) -> float:
    """Return the seconds between two flushes of what comes steadily to a collection of these series."""
    return max(LEAST_FLUSH_SECONDS, min(FLUSH_SECONDS, _every_seconds(series)))


def _every_seconds(series: Iterable[Series]) -> float:
    return min(each.every_ms for each in series) / 1_000


@lru_cache
def times_sent(nbytes: int, *, reports: int, flushes: int) -> int:
    """Count how often a statistic is sent in a pane whose reports come evenly.

    nbytes: size of the statistic in memory.
    """
    sending = Sending(nbytes)
    return sum(
        sending.is_due(reports * flush // flushes, closing=flush == flushes) for flush in range(1, flushes + 1)
    )
