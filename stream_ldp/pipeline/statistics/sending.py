"""The decision when statistics are flushed, and whether one that has changed is worth sending."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.collection import Series

#: The most and the least seconds between two flushes, by which an answer can be later than its window or its `every`.
#: Each takes three round trips to the brokers, some 20 ms, in which nothing is counted, and its records are read and
#: merged: under a light load that is most of what a worker does.
FLUSH_SECONDS, LEAST_FLUSH_SECONDS = 0.5, 0.25

#: Flushes in the shortest `every` of a collection, if that is within these bounds.
FLUSHES = 4

#: Bytes of a partial beside its statistic: its key and header name the collection, the pane and the writer.
RECORD_BYTES = 300

#: A statistic of at most this many bytes in memory is sent whenever it has changed, a few KB with each flush.
SMALL_BYTES = 2**16

#: A larger one waits until its reports are a tenth more: a pane of a million reports sends it a hundred times,
#: and not with every flush.
GROWTH = 1.1

#: Yet it waits for no more looks than this, five to ten seconds of flushes: with few reports, a tenth takes long.
PATIENCE = 20


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


def flush_seconds(series: Iterable[Series]) -> float:
    """Return the seconds between two flushes of a collection of these series."""
    every_ms = min(each.every_ms for each in series)
    return max(LEAST_FLUSH_SECONDS, min(FLUSH_SECONDS, every_ms / 1_000 / FLUSHES))


@lru_cache
def times_sent(nbytes: int, *, reports: int, flushes: int) -> int:
    """Count how often a statistic is sent in a pane whose reports come evenly.

    nbytes: size of the statistic in memory.
    """
    sending = Sending(nbytes)
    return sum(
        sending.is_due(reports * flush // flushes, closing=flush == flushes) for flush in range(1, flushes + 1)
    )
