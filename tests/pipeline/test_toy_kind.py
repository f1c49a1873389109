"""A kind that the package does not know is read, counted, merged and answered as its own two are."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import solve
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import Partial, Watermark, decode, encode
from stream_ldp.pipeline.source_partition import SourcePartition
from tests.toy import COIN, Coins, Share

CLOSED_MS = 12_000


def batch(collection: Coins, *, time_ms: int, heads: int, tails: int) -> bytes:
    rows = np.repeat(np.array([[1], [0]], dtype=np.uint8), [heads, tails], axis=0)
    return wire.encode(wire.Batch(fingerprint=collection.fingerprint, batch_id=bytes(16), time_ms=time_ms, rows=rows))


def test_a_kind_says_on_which_topic_its_answers_are(coins: Coins) -> None:
    names = [spec.name for spec in topic_specs([coins], prefix="p", partials_partitions=1)]
    own = ["reports", "shares", "provisional", "dead-letters"]
    assert names == ["p.collections", "p.partials", *(f"p.coins.{topic}" for topic in own)]


def test_reports_of_the_kind_become_its_answer(coins: Coins) -> None:
    """A coin shows heads in 70 % of cases; each report of it is true three times in four, so 60 % report heads."""
    state = SourcePartition(coins, COIN.layout(coins), partition=0)
    state.take_changes()
    counted = state.count([0, 1], [0, CLOSED_MS], [batch(coins, time_ms=0, heads=60, tails=40), b"garbage"])
    assert (counted.reports, counted.implausible, len(counted.rejected)) == (100, 0, 1)
    state.count([2], [CLOSED_MS], [batch(coins, time_ms=CLOSED_MS, heads=1, tails=0)])
    changes = state.take_changes()
    assert changes is not None
    assert changes.watermark is not None

    merge = Merge(coins, partitions=1)
    records: list[Partial | Watermark] = [*changes.partials, changes.watermark]
    for record in records:
        merge.apply(decode(encode(record, writer="w")[1]))
    question = merge.due()
    assert question is not None
    answer = solve(coins, question)
    assert isinstance(answer, Share)
    assert (answer.final, answer.reports) == (True, 100)
    assert answer.share == pytest.approx(0.7)
    assert answer.key == b"heads|final|0"
    assert Share.from_bytes(answer.to_bytes()) == answer
    merge.decide(answer)
    assert (merge.due(), merge.decided) == (None, [answer])
