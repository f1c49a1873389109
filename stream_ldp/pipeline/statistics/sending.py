"""The decision whether a statistic that has changed is worth sending."""

from __future__ import annotations

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
        """Decide whether to send it now, and take it for sent.

        reports: number of its reports by now.
        closing: whether this is the last look, which must leave out no report.
        """
        if reports == self._reports:
            return False
        self._looks += 1
        due = self._small or closing or reports >= GROWTH * self._reports or self._looks >= PATIENCE
        if due:
            self._reports, self._looks = reports, 0
        return due
