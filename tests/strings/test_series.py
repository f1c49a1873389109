"""The series of rankings of strings: one statistic, one window after another."""

from __future__ import annotations

from tests.strings.examples import collection_of


def test_every_window_is_answered_from_the_answers_alone() -> None:
    collection = collection_of(window=", hop: 5s")
    (series,) = collection.series
    assert series.statistic(None) == ("answers",)
    assert series.period_ms(collection.window) == 5_000
    assert series.follows(20_000) == ("strings", None)
