"""The decision when statistics are flushed, and whether one that has changed is worth sending."""

from __future__ import annotations

import math
from dataclasses import dataclass
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

#: Bytes in memory of large statistics that a worker sends of a collection in a second, unless their panes close or
#: are saved: 80 tables of 16 bits, 2.5 MB of the partials topic. With 28 pairs of 8 x 8 values on 16 partitions, all
#: that are due would be 12 MB in each flush of a drain. Those that wait come first in the next one.
LARGE_BYTES_A_SECOND = 40 * 2**20


class Sending:
    """What has been sent of one growing statistic.

    waits: how often it has not been sent, although it had changed, since it was sent.
    """

    def __init__(self, nbytes: int) -> None:
        """Begin with nothing sent.

        nbytes: size of the statistic in memory.
        """
        self._small = nbytes <= SMALL_BYTES
        self._reports = 0
        self.waits = 0

    def is_due(self, reports: int, *, closing: bool) -> bool:
        """Decide whether it is to be sent now.

        reports: number of its reports by now.
        closing: whether this is the last look, which must leave out no report.
        """
        if reports == self._reports:
            return False
        return self._small or closing or reports >= GROWTH * self._reports or self.waits + 1 >= PATIENCE

    def note_sent(self, reports: int) -> None:
        """Take it for sent with so many reports."""
        self._reports, self.waits = reports, 0

    def note_wait(self, reports: int) -> None:
        """Note that it has not been sent, with so many reports."""
        self.waits += reports != self._reports


@dataclass(kw_only=True, slots=True)
class Room:
    """The room of a flush for large statistics that may wait for the next one.

    nbytes: the bytes in memory of those that it may still send; the last one may have more.
    """

    nbytes: float = math.inf

    def take(self, nbytes: int) -> bool:
        """Take so many bytes, if there is room for any; return whether there was."""
        if self.nbytes <= 0:
            return False
        self.nbytes -= nbytes
        return True


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
    sending, times = Sending(nbytes), 0
    for flush in range(1, flushes + 1):
        some = reports * flush // flushes
        if sending.is_due(some, closing=flush == flushes):
            sending.note_sent(some)
            times += 1
        else:
            sending.note_wait(some)
    return times
