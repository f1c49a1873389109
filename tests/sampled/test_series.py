"""The only series of a sampled collection."""

from __future__ import annotations

from tests.sampled.examples import collection_of


def test_there_is_one_series_whose_answers_are_made_of_all_reports() -> None:
    (series,) = collection_of().series
    assert series.name == "marginals"
    assert series.every_ms == 2_000
    assert series.statistic(None) == ("answers",)
    assert series.follows(5) == ("marginals", None)
