"""Tests of the recount of a window, and of the comparison of two answers."""

import numpy as np
import pytest

from stream_ldp.client.batcher import batch_of
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.recount import Recount, answer_before, differences
from stream_ldp.pipeline.wire import encode
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from tests.client.examples import collection_of, of_minute
from tests.client.rankings import films, ranking_of

MINUTE = 60_000
SURVEY = collection_of()


def batch(time_ms: int, count: int, *, seed: int = 1, collection: JointCollection = SURVEY) -> bytes:
    entropy = SeededEntropy(seed)
    rows = collection.mechanism.perturb(np.zeros((count, 2), dtype=np.int64), entropy=entropy, permanent_words=None)
    return encode(
        batch_of(rows, fingerprint=collection.fingerprint, time_ms=time_ms, window=collection.window, entropy=entropy)
    )


def reports(collection: JointCollection, window_ms: int, records: list[tuple[int, int, bytes]]) -> list[int]:
    """The reports of a window, and of those that it remembers."""
    recount = Recount(collection, layouts=[JointLayout(collection)], window_ms=window_ms, partitions=[0, 3])
    recount.add(0, records)
    task = recount.task(collection.estimates[0], before=None)
    return [sum(int(part.reports) for part in parts) for _, parts in task.windows]


def test_the_batches_of_the_window_are_counted_and_no_others() -> None:
    records = [
        (7, MINUTE, batch(MINUTE, 10, seed=1)),
        (8, MINUTE, batch(MINUTE - 1, 20, seed=2)),
        (9, 2 * MINUTE, batch(2 * MINUTE - 1, 40, seed=3)),
        (12, 2 * MINUTE, batch(2 * MINUTE, 80, seed=4)),
        (13, 2 * MINUTE, b"no batch"),
        (14, 2 * MINUTE, batch(MINUTE, 10, seed=1)),
    ]
    assert reports(SURVEY, MINUTE, records) == [50], "the last is a copy of the first"


def test_remembered_windows_are_counted_too() -> None:
    collection = collection_of(window="grace: 5s, memory: 0.05")
    assert collection.window.memory_windows == 2
    records = [
        (minute, minute * MINUTE, batch(minute * MINUTE, 10 + minute, seed=minute, collection=collection))
        for minute in range(4)
    ]
    assert reports(collection, 2 * MINUTE, records) == [12, 11]


def test_it_says_when_reports_of_the_window_may_have_been_appended() -> None:
    recount = Recount(SURVEY, layouts=[JointLayout(SURVEY)], window_ms=MINUTE, partitions=[0])
    assert recount.appended_from_ms == MINUTE - SURVEY.window.ahead_ms
    assert recount.appended_until_ms == 2 * MINUTE + SURVEY.window.max_age_ms


def test_an_answer_continues_from_the_final_before_it() -> None:
    spec = SURVEY.estimates[0]
    finals = [of_minute(3), of_minute(1), of_minute(2, status=Status.NO_REPORTS), of_minute(2, estimate="mobility")]
    assert answer_before(SURVEY, spec, 3 * MINUTE, finals) == of_minute(1)
    assert answer_before(SURVEY, spec, MINUTE, finals) is None


def test_a_phase_continues_from_the_phase_before_it() -> None:
    collection = films()
    _, second = collection.series
    first, other = ranking_of(epoch=7, phase=1), ranking_of(epoch=6, phase=1)
    assert answer_before(collection, second, collection.schedule.window_of(7, 2), [first, other]) == first


def test_equal_messages_have_no_differences_up_to_the_last_digits() -> None:
    message = {"a": [1, 2.0, {"b": None}], "c": "x", "d": 0.1}
    assert differences(message, message) == []
    assert differences(message, message | {"d": 0.1 + 1e-12}) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"d": 0.1001}, "d: published 0.1, recomputed 0.1001"),
        ({"a": [1, 2.5]}, "a[1]: published 2.0, recomputed 2.5"),
        ({"a": [1]}, "a: published [1, 2.0], recomputed [1]"),
        ({"e": {"f": "y"}}, "e.f: published 'x', recomputed 'y'"),
        ({"e": {}}, "e.f: published 'x', recomputed None"),
        ({"d": None}, "d: published 0.1, recomputed None"),
        ({"g": 3}, "g: published None, recomputed 3"),
    ],
)
def test_a_difference_is_reported_with_its_place(changed: dict[str, object], told: str) -> None:
    message = {"a": [1, 2.0], "d": 0.1, "e": {"f": "x"}}
    assert differences(message, message | changed) == [told]
