"""Tests of which batches the gateway lets in: exactly those that a worker would count."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from stream_ldp.collection import Collection
from stream_ldp.gateway.admission import Admission, Admitted, Judged
from stream_ldp.kinds import kind_of
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.layout import Layout
from stream_ldp.pipeline.rejection import Reason
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


def judged(collection: Collection, *records: bytes, rounds: Sequence[Layout] = ()) -> Judged:
    return Admission(collection).judge(records, now_ms=NOW_MS, rounds=rounds)


def test_a_good_batch_is_let_in_with_what_its_record_needs() -> None:
    found = judged(collection_of(), batch(collection_of()))
    assert found.admitted == [Admitted(place=0, batch_id=bytes(range(16)), time_ms=NOW_MS, reports=3)]
    assert found.rejected == {}


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: str(case["what"]))
def test_what_a_worker_refuses_is_refused_with_the_same_reason(case: dict[str, str]) -> None:
    collection = collection_of()
    record = bytes.fromhex(case["record"])
    (_, by_a_worker), *_ = wire.decode(
        [record], formats={collection.fingerprint: kind_of(collection).layout(collection)}
    ).rejected
    found = judged(collection, record)
    assert found.admitted == []
    assert found.rejected[0].reason == by_a_worker.reason == case["reason"]
    assert found.rejected[0].detail == by_a_worker.detail


def test_batches_are_judged_together_and_each_has_its_own_verdict() -> None:
    collection = collection_of()
    latest = NOW_MS + collection.window.ahead_ms
    good, last, early = (batch(collection, time_ms=time_ms) for time_ms in (NOW_MS, latest, latest + 1))
    found = judged(collection, b"no batch", good, early, last)
    assert [(each.place, each.time_ms) for each in found.admitted] == [(1, NOW_MS), (3, latest)]
    assert {place: each.reason for place, each in found.rejected.items()} == {
        0: Reason.TOO_SHORT,
        2: Reason.FUTURE_TIME,
    }


def test_an_answer_to_a_round_is_let_in_and_one_to_no_round_is_not() -> None:
    collection = films()
    asked = Round.of(collection, inquiry_of(2, [0, 1]), epoch=7)
    kind = kind_of(collection)
    assert kind.rounds is not None
    layout = kind.rounds.layout(collection, asked)
    answers = [
        batch(collection, fingerprint=fingerprint, width=row_width(layout.bits))
        for fingerprint in (asked.fingerprint, bytes(16))
    ]
    found = judged(collection, *answers, rounds=[layout])
    assert [each.place for each in found.admitted] == [0]
    assert found.rejected[1].reason is Reason.UNKNOWN_FINGERPRINT
