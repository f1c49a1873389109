"""Tests of which batches the gateway lets in: exactly those that a worker would count."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest

from stream_ldp.collection import Collection
from stream_ldp.gateway import admission as module
from stream_ldp.gateway.admission import Admission, Admitted
from stream_ldp.kinds import kind_of
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.layout import Layout
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.sets.rounds import Round
from tests.client.examples import collection_of
from tests.client.rankings import films
from tests.paths import GOLDEN
from tests.sets.examples import inquiry_of

NOW_MS = 1_800_000_000_000
MALFORMED = json.loads((GOLDEN / "malformed.json").read_text(encoding="utf-8"))


def batch(
    collection: Collection, *, fingerprint: bytes | None = None, time_ms: int = NOW_MS, width: int = 1
) -> bytes:
    rows = np.zeros((3, width), dtype=np.uint8)
    found = fingerprint or collection.fingerprint
    return wire.encode(wire.Batch(fingerprint=found, batch_id=bytes(range(16)), time_ms=time_ms, rows=rows))


class Rounds:
    """Rounds of a collection, which count how often they were asked for."""

    def __init__(self, *layouts: Layout) -> None:
        self._layouts = layouts
        self.asked = 0

    async def layouts(self, fingerprints: Iterable[bytes]) -> list[Layout]:
        self.asked += 1
        return [each for each in self._layouts if each.fingerprint in set(fingerprints)]


async def test_a_good_batch_is_let_in_with_what_its_record_needs() -> None:
    found = await Admission(collection_of(), rounds=None).judge(batch(collection_of()), now_ms=NOW_MS)
    assert found == Admitted(batch_id=bytes(range(16)), time_ms=NOW_MS, reports=3)


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: str(case["what"]))
async def test_what_a_worker_refuses_is_refused_with_the_same_reason(case: dict[str, str]) -> None:
    collection = collection_of()
    record = bytes.fromhex(case["record"])
    (_, by_a_worker), *_ = wire.decode(
        [record], formats={collection.fingerprint: kind_of(collection).layout(collection)}
    ).rejected
    found = await Admission(collection, rounds=None).judge(record, now_ms=NOW_MS)
    assert isinstance(found, Rejected)
    assert found.reason == by_a_worker.reason == case["reason"]
    assert found.detail == by_a_worker.detail


async def test_a_batch_from_the_future_is_refused_by_the_collections_own_limit() -> None:
    collection = collection_of()
    ahead_ms = collection.window.ahead_ms
    admission = Admission(collection, rounds=None)
    assert isinstance(await admission.judge(batch(collection, time_ms=NOW_MS + ahead_ms), now_ms=NOW_MS), Admitted)
    found = await admission.judge(batch(collection, time_ms=NOW_MS + ahead_ms + 1), now_ms=NOW_MS)
    assert isinstance(found, Rejected)
    assert found.reason is Reason.FUTURE_TIME


async def test_batches_that_come_at_once_are_judged_together_and_each_has_its_own_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collection, calls, decode = collection_of(), list[int](), wire.decode

    def decoded(records: Sequence[bytes], *, formats: Mapping[bytes, Layout]) -> wire.Decoded:
        calls.append(len(records))
        return decode(records, formats=formats)

    monkeypatch.setattr(wire, "decode", decoded)
    admission = Admission(collection, rounds=None)
    good, early = batch(collection), batch(collection, time_ms=NOW_MS + 1 + collection.window.ahead_ms)
    gone = asyncio.ensure_future(admission.judge(good, now_ms=NOW_MS))
    waiting = asyncio.gather(*(admission.judge(each, now_ms=NOW_MS) for each in (b"no batch", good, early, good)))
    await asyncio.sleep(0)
    gone.cancel()  # Its client closes the connection.
    bad, first, ahead, second = await waiting
    assert calls == [5]
    assert first == second == Admitted(batch_id=bytes(range(16)), time_ms=NOW_MS, reports=3)
    assert isinstance(bad, Rejected)
    assert isinstance(ahead, Rejected)
    assert (bad.reason, ahead.reason) == (Reason.TOO_SHORT, Reason.FUTURE_TIME)


async def test_a_large_batch_is_judged_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    admission = Admission(collection_of(), rounds=None)
    assert isinstance(await admission.judge(batch(collection_of()), now_ms=NOW_MS), Admitted)


async def test_an_answer_to_a_round_is_let_in_and_one_to_no_round_is_not() -> None:
    collection = films()
    asked = Round.of(collection, inquiry_of(2, [0, 1]), epoch=7)
    kind = kind_of(collection)
    assert kind.rounds is not None
    layout = kind.rounds.layout(collection, asked)
    rounds = Rounds(layout)
    admission = Admission(collection, rounds=rounds)
    width = row_width(layout.bits)
    good = batch(collection, fingerprint=asked.fingerprint, width=width)
    assert isinstance(await admission.judge(good, now_ms=NOW_MS), Admitted)
    found = await admission.judge(batch(collection, fingerprint=bytes(16), width=width), now_ms=NOW_MS)
    assert isinstance(found, Rejected)
    assert found.reason is Reason.UNKNOWN_FINGERPRINT


async def test_the_rounds_are_not_asked_about_what_is_no_batch() -> None:
    rounds = Rounds()
    await Admission(films(), rounds=rounds).judge(b"GET / HTTP/1.1", now_ms=NOW_MS)
    assert rounds.asked == 0
