"""The truth of a simulation of strings: which window's ranking is compared with, and what counts as found."""

from __future__ import annotations

from pathlib import Path

from stream_ldp.cli.simulation.string_truth import StringTally, StringTruth, TrueStrings
from stream_ldp.pipeline.answer import WindowBounds
from tests.strings.examples import collection_of, ranking_of, users


def test_a_ranking_is_compared_with_its_own_window_or_else_with_the_population(tmp_path: Path) -> None:
    collection = collection_of()
    people = users(collection, 100)
    tally = StringTally(collection, people)
    tally.add(people[:30], time_ms=20_000)
    tally.add(people[30:40], time_ms=29_999)
    tally.add(people[40:], time_ms=30_000)
    tally.truth().save(tmp_path / "truth.json")
    truth = StringTruth.load(tmp_path / "truth.json")
    assert [each.reports for each in truth.windows] == [40, 60]
    ranking = ranking_of(collection, 100)
    apple = people[:, 0] == 1
    found, other = truth.of(ranking), collection_of("epsilon: 1")
    assert found is not None
    assert found.share("apple") == apple[:40].mean()
    elsewhere = truth.of(ranking.model_copy(update={"window": WindowBounds(start_ms=0, end_ms=1)}))
    assert elsewhere is not None
    assert elsewhere.share("apple") == apple.mean()
    assert truth.of(ranking_of(other, 100)) is None


def test_a_string_is_found_that_is_as_frequent_as_the_last_of_as_many() -> None:
    truth = TrueStrings(users={"a": 5, "b": 3, "c": 3, "d": 1})
    assert truth.found(["a", "c"]) == 2
    assert truth.found(["a", "d", "x"]) == 1
    assert truth.found([]) == 0
    assert TrueStrings(users={}).found(["a"]) == 0
    assert TrueStrings(users={}).share("a") == 0
