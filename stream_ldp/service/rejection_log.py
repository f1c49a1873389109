"""Say in a worker's log what it refuses, by reason, and no more often than a reader can follow."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_ldp.pipeline.rejection import Reason, Rejected
    from stream_ldp.service.dead_letters import Refused

log = logging.getLogger(__name__)

#: Seconds between two lines of one reason, so that a flood of junk does not become a flood of lines.
SUM_SECONDS = 60.0


@dataclass(kw_only=True, slots=True)
class _Sum:
    """The batches of one reason since its last line."""

    since: float
    count: int = 0
    last: str = ""


class RejectionLog:
    """A rejection log has a line for the first batch of a reason, and then their sum every SUM_SECONDS.

    After SUM_SECONDS without such a batch, the next one is a first one again. No line has any byte of a batch.
    """

    def __init__(self, collection: str) -> None:
        """Begin with no reasons; `collection` is the name that lines begin with."""
        self._collection = collection
        self._sums: dict[Reason, _Sum] = {}

    def add(self, record: Refused, why: Rejected, *, now: float) -> None:
        """Take a refused record, or some that are refused alike.

        now: monotonic time, in seconds.
        """
        place = f"partition {record.partition} offset {record.offset}: {why.detail}"
        if (known := self._sums.get(why.reason)) is not None:
            known.count += record.count
            known.last = place
            return
        self._sums[why.reason] = _Sum(since=now, count=record.count - 1)
        log.warning(
            "%s: a batch is refused as %s, at %s %s; such batches become dead letters: stream-ldp dead-letters list",
            *(self._collection, why.reason.value, record.topic, place),
            extra={"collection": self._collection, "reason": why.reason.value, "batches": 1},
        )

    def look(self, *, now: float) -> None:
        """Write the sums that are due, at the same kind of time."""
        for reason, each in list(self._sums.items()):
            if now < each.since + SUM_SECONDS:
                continue
            if not each.count:
                del self._sums[reason]
                continue
            log.warning(
                "%s: %d more batches were refused as %s in %.0f s, the last at %s",
                *(self._collection, each.count, reason.value, now - each.since, each.last),
                extra={"collection": self._collection, "reason": reason.value, "batches": each.count},
            )
            self._sums[reason] = _Sum(since=now)
