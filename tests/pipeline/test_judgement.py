"""What an answer says beside its cells."""

import pytest

from stream_ldp.filtering.filtered import FilteredEstimate
from stream_ldp.pipeline.cells import CellKey
from stream_ldp.pipeline.judgement import Measure, filtered_lines, found, previous

TRUTH: dict[CellKey, float] = {
    ("", (name,)): share for name, share in {"a": 0.5, "b": 0.3, "c": 0.3, "d": 0.1}.items()
}


@pytest.mark.parametrize(("names", "count"), [("ac", 2), ("adx", 1), ("", 0), ("abcd", 4), ("abcdx", 4)], ids=str)
def test_what_is_as_large_as_the_last_of_as_many_is_found(names: str, count: int) -> None:
    assert found([("", (name,)) for name in names], TRUTH) == Measure(value=count, of=len(names))


def test_nothing_is_found_where_nobody_has_anything() -> None:
    assert found([("", ("a",))], {}) == Measure(value=0, of=1)


def test_a_measure_is_a_distance_or_a_count_of_so_many() -> None:
    assert [str(Measure(value=0.05)), str(Measure(value=3, of=10))] == ["0.0500", "3/10"]


def test_a_sentence_says_how_much_previous_windows_weigh() -> None:
    assert previous("2 users", more=", and more") == "previous windows weigh as much as 2 users, and more"


def test_what_is_learnt_is_reported_with_its_weight_the_largest_first() -> None:
    learnt = FilteredEstimate(
        estimate=(0.1, 0.7, *[0.0] * 6),
        standard_error=(0.01,) * 8,
        weight=12.0,
        drift=None,
        jumped=False,
    )
    (sentence,) = filtered_lines(learnt, "abcdefgh", about="diet", unit="answer")
    assert sentence.startswith(
        "diet: previous windows weigh as much as 12 answers; with them, b 0.700 ± 0.010, a 0.1"
    )
    assert sentence.endswith(", and 2 more")
    assert filtered_lines(learnt.model_copy(update={"weight": 0.0}), "abcdefgh", about="", unit="") == ()
    assert filtered_lines(None, "", about="", unit="") == ()
