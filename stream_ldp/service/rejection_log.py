"""Say in a worker's log what it refuses, by reason, and no more often than a reader can follow."""

import logging
from dataclasses import dataclass

from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.service.dead_letters import Refused

log = logging.getLogger(__name__)

#: Seconds between two lines of one reason, so that a flood of junk does not become a flood of lines.
SUM_SECONDS = 60.0


@dataclass(kw_only=True, slots=True)
class _Sum:
    """The records of one reason since its last line."""

    since: float
    count: int = 0
    last: str = ""


class RejectionLog:
    """A rejection log has a line for the first record of a reason, and then their sum every SUM_SECONDS.

    After SUM_SECONDS without such a record, the next one is a first one again. No line has any byte of a report.
    """

    def __init__(self, collection: str, *, one: str = "a batch", many: str = "batches") -> None:
        """Begin with no reasons.

        collection: name that lines begin with.
        one, many: what lines call a record, and several.
        """
        self._collection = collection
        self._one, self._many = one, many
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
            "%s: %s is refused as %s, at %s %s; such %s become dead letters: stream-ldp dead-letters list",
            *(self._collection, self._one, why.reason.value, record.topic, place, self._many),
            extra={"collection": self._collection, "reason": why.reason.value, "batches": 1},
        )

    def look(self, *, now: float) -> float | None:
        """Write the sums that are due, at the same kind of time; return the seconds until another may be."""
        for reason, each in list(self._sums.items()):
            if now < each.since + SUM_SECONDS:
                continue
            if not each.count:
                del self._sums[reason]
                continue
            log.warning(
                "%s: %d more %s were refused as %s in %.0f s, the last at %s",
                *(self._collection, each.count, self._many, reason.value, now - each.since, each.last),
                extra={"collection": self._collection, "reason": reason.value, "batches": each.count},
            )
            self._sums[reason] = _Sum(since=now)
        return min((each.since + SUM_SECONDS - now for each in self._sums.values()), default=None)
