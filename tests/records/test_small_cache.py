"""Tests of kept results: the same is made once, and the oldest is forgotten."""

from __future__ import annotations

import pytest

from stream_ldp.records.small_cache import SmallCache


def test_what_is_asked_again_is_not_made_again_and_what_was_asked_longest_ago_is_forgotten() -> None:
    kept: SmallCache[str] = SmallCache(most=2)
    made: list[str] = []

    def of(key: str) -> str:
        return kept.of(key, lambda: made.append(key) or key.upper())  # type: ignore[func-returns-value]

    assert [of(key) for key in "abab"] == ["A", "B", "A", "B"]
    assert made == ["a", "b"]
    assert [of(key) for key in "acab"] == ["A", "C", "A", "B"]
    assert made == ["a", "b", "c", "b"]


def test_a_result_may_be_none_and_a_failure_is_not_kept() -> None:
    kept: SmallCache[None] = SmallCache(most=2)
    made = []
    for _ in range(2):
        kept.of("none", lambda: made.append(1))
    assert made == [1]
    with pytest.raises(ZeroDivisionError):
        kept.of("failed", lambda: [None][1 // 0])
    kept.of("failed", lambda: made.append(2))
    assert made == [1, 2]
