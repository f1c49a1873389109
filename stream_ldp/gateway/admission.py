"""Decide which batches the gateway lets in: those that a worker would count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from stream_ldp.kinds import kind_of
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.rejection import Reason, Rejected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.layout import Layout


class RoundLayouts(Protocol):
    """Where the layouts of a collection's rounds come from; see `stream_ldp.kafka.round_log.RoundLog`."""

    async def layouts(self, fingerprints: Iterable[bytes]) -> list[Layout]:
        """Return the layouts of the batches with these fingerprints, for those that have a round."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Admitted:
    """A batch that was let in.

    batch_id: 16 bytes, the same in every copy of the batch.
    time_ms: event time of its reports, milliseconds since 1970-01-01 UTC.
    reports: their number.
    """

    batch_id: bytes
    time_ms: int
    reports: int


class Admission:
    """The admission to one collection: the workers' own decoder, and the rule on times ahead.

    Whether a batch is late, or was counted before, only a worker can decide.
    """

    def __init__(self, collection: Collection, *, rounds: RoundLayouts | None) -> None:
        """Prepare for one collection.

        rounds: the rounds of a collection whose later questions depend on earlier answers; None for any other.
        """
        self._collection = collection
        self._own = kind_of(collection).layout(collection)
        self._rounds = rounds

    async def judge(self, record: bytes, *, now_ms: int) -> Admitted | Rejected:
        """Decide whether to let a batch in.

        now_ms: the gateway's clock, in milliseconds since 1970-01-01 UTC.

        Raises:
            KafkaError: the rounds cannot be read.
        """
        layouts = {self._own.fingerprint: self._own}
        unknown = wire.fingerprints([record]) - layouts.keys()
        if unknown and self._rounds is not None:
            layouts |= {each.fingerprint: each for each in await self._rounds.layouts(unknown)}
        decoded = wire.decode([record], formats=layouts)
        if decoded.rejected:
            return decoded.rejected[0][1]
        time_ms, ahead_ms = int(decoded.time_ms[0]), self._collection.window.ahead_ms
        if time_ms > now_ms + ahead_ms:
            return Rejected(Reason.FUTURE_TIME, f"more than {ahead_ms} ms ahead of the gateway's clock")
        return Admitted(batch_id=bytes(decoded.batch_ids[0]), time_ms=time_ms, reports=int(decoded.counts[0]))
