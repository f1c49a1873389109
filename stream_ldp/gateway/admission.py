"""Decide which batches the gateway lets in: those that a worker would count."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from stream_ldp.kinds import kind_of
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.rejection import Reason, Rejected

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.layout import Layout


#: Bytes of the largest batch that is judged with others: all connections together bring a few megabytes of such ones.
MOST_BYTES = 4_096


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

    Whether a batch is late, or was counted before, only a worker can decide. Small batches that come at once are
    judged together: the decoder takes 70 us for one, and 2 us each for 64.
    """

    def __init__(self, collection: Collection, *, rounds: RoundLayouts | None) -> None:
        """Prepare for one collection.

        rounds: the rounds of a collection whose later questions depend on earlier answers; None for any other.
        """
        self._collection = collection
        self._own = kind_of(collection).layout(collection)
        self._rounds = rounds
        self._waiting: list[tuple[bytes, int, asyncio.Future[Admitted | Rejected]]] = []

    async def judge(self, record: bytes, *, now_ms: int) -> Admitted | Rejected:
        """Decide whether to let a batch in.

        now_ms: the gateway's clock, in milliseconds since 1970-01-01 UTC.

        Raises:
            KafkaError: the rounds cannot be read.
        """
        others: list[Layout] = []
        if self._rounds is not None and (unknown := wire.fingerprints([record]) - {self._own.fingerprint}):
            others = await self._rounds.layouts(unknown)
        if others or len(record) > MOST_BYTES:
            (found,) = self._judged([record], [now_ms], others)
            return found
        loop = asyncio.get_running_loop()
        if not self._waiting:
            # After all requests that have come at once.
            loop.call_soon(self._judge_waiting)
        verdict: asyncio.Future[Admitted | Rejected] = loop.create_future()
        self._waiting.append((record, now_ms, verdict))
        return await verdict

    def _judge_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        found = self._judged([record for record, *_ in waiting], [now_ms for _, now_ms, _ in waiting], ())
        for (*_, verdict), each in zip(waiting, found, strict=True):
            if not verdict.done():  # else its client has gone
                verdict.set_result(each)

    def _judged(
        self, records: Sequence[bytes], now_ms: Sequence[int], others: Iterable[Layout]
    ) -> list[Admitted | Rejected]:
        """Decide on batches, whose fingerprint is the collection's own or that of one of some other layouts."""
        decoded = wire.decode(records, formats={each.fingerprint: each for each in (self._own, *others)})
        found: dict[int, Admitted | Rejected] = dict(decoded.rejected)
        ids = decoded.batch_ids
        ahead_ms = self._collection.window.ahead_ms
        accepted = zip(decoded.accepted.tolist(), decoded.time_ms.tolist(), decoded.counts.tolist(), strict=True)
        for place, (index, time_ms, reports) in enumerate(accepted):
            found[index] = (
                Rejected(Reason.FUTURE_TIME, f"more than {ahead_ms} ms ahead of the gateway's clock")
                if time_ms > now_ms[index] + ahead_ms
                else Admitted(batch_id=bytes(ids[place]), time_ms=time_ms, reports=reports)
            )
        return [found[index] for index in range(len(records))]
