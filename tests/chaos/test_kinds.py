"""Tests of the collections that runs are about: what honest users report is counted, and other answers are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_ldp.kinds import kind_of, parse_collection, solve
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.question import Question
from stream_ldp.pipeline.statistics import RowCounts
from tests.chaos.checks import differences_of_finals
from tests.chaos.kinds import KINDS
from tests.chaos.oracle import Expected
from tests.strings.examples import counted

NOW = 1_800_000_000_000


def collection_of(kind: str) -> Any:
    text = KINDS[kind].text.format(size="1s", idle="never", more="ahead: 5s", period="")
    return parse_collection(text.format(name="survey"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_honest_users_report_is_counted(kind: str) -> None:
    collection = collection_of(kind)
    made = KINDS[kind].batches(collection, [NOW, NOW + 1_000], reports=30, rng=np.random.default_rng(1))
    decoded = wire.decode(made, formats={collection.fingerprint: kind_of(collection).layout(collection)})
    assert decoded.rejected == []
    assert decoded.counts.tolist() == [30, 30]


def test_a_final_of_another_kind_with_other_numbers_is_found() -> None:
    collection = collection_of("strings")
    (batch,) = KINDS["strings"].batches(collection, [NOW], reports=900, rng=np.random.default_rng(1))
    rows = np.frombuffer(batch[wire.HEADER_BYTES :], dtype=np.uint8).reshape(900, -1)
    expected = Expected(windows={NOW: [row.tobytes() for row in rows]}, final={NOW})

    def final(counts: RowCounts) -> Any:
        question: Question[Any, Any] = Question(
            series=collection.series[0], window_ms=NOW, final=True, windows=((1.0, (counts,)),), before=None
        )
        return solve(collection, question)

    honest = final(counted(collection, rows))
    assert honest.strings
    assert differences_of_finals([honest], expected, collection=collection) == []
    other = final(counted(collection, np.repeat(rows[:450], 2, axis=0)))
    assert differences_of_finals([other], expected, collection=collection) == [
        f"window {NOW}: the numbers are not those that are estimated offline"
    ]
