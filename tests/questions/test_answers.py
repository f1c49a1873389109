"""Tests of answers that are added up over windows."""

from typing import Any

import numpy as np
import pytest

from stream_ldp.collection import Window
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.questions.answers import enough_answers, gathered, too_few
from tests.marginals.examples import collection_of, rows_of, users
from tests.places.examples import collection_of as places_of
from tests.places.examples import rows_of as place_rows
from tests.places.examples import users as place_users


def test_a_question_that_nobody_answered_gives_no_answers() -> None:
    collection = collection_of()
    nothing = np.zeros(collection.questions.counters, dtype=np.int64)
    assert gathered(collection.questions, [(1.0, nothing)], of=0) == ()


def test_windows_are_added_by_their_weight_at_the_effective_number_of_reports() -> None:
    """Kish (1965): weights 1 and 1/2 on n reports each are worth (3 n / 2)^2 / (5 n / 4) = 1.8 n."""
    collection = collection_of()
    sums = collection.questions.sums(rows_of(collection, users(3_000)))
    (once,), (both,) = (
        gathered(collection.questions, windows, of=0) for windows in ([(1.0, sums)], [(1.0, sums), (0.5, sums)])
    )
    assert both.reports == pytest.approx(1.8 * once.reports)
    assert both.sums == pytest.approx(1.8 * once.sums)


def floor_of(least: int | None, **window: Any) -> PlaceCollection:
    collection = places_of("epsilon: [1, 2], oracle: k-rr")
    size_ms = collection.window.size_ms
    return collection.model_copy(update={"min_reports": least, "window": Window(size_ms=size_ms, **window)})


@pytest.mark.parametrize(
    ("drawn", "window", "few"),
    [
        ([[19, 20, 0]], {}, [True, False, False]),
        ([[39, 40, 0]], {"reports_per_user": 2.0}, [True, False, False]),
        # With a memory, those of the present window count, and all of them are bounded together.
        ([[19, 20, 0], [500, 500, 500]], {"memory": 0.5}, [True, False, True]),
        ([[20, 20, 20], [19, 20, 0]], {"memory": 0.5, "reports_per_user": 2.0}, [True, False, True]),
    ],
)
def test_questions_that_fewer_users_have_answered_are_found(
    drawn: list[list[int]], window: dict[str, Any], few: list[bool]
) -> None:
    assert too_few(np.array(drawn), floor_of(20, **window)).tolist() == few


def test_what_enough_users_have_answered_stays_as_it_is() -> None:
    collection = floor_of(1)
    sums = collection.questions.sums(place_rows(collection, place_users(300)))
    drawn = collection.questions.draws(sums)
    windows = [(1.0, sums)]
    ((_, everything),) = enough_answers(collection.questions, collection, windows)
    assert np.array_equal(everything, sums)
    least = int(np.sort(drawn[drawn > 0])[1])
    ((_, rest),) = enough_answers(collection.questions, floor_of(least), windows)
    assert collection.questions.draws(rest).tolist() == [each if each >= least else 0 for each in drawn.tolist()]
    for number, reports in enumerate(drawn.tolist()):
        part, before = (collection.questions.part(each, number)[1] for each in (rest, sums))
        assert np.array_equal(part, before if reports >= least else np.zeros_like(before))
