"""The plan of a collection of strings says what it costs, and the error that a solver then states."""

import pytest

from stream_ldp.strings.plan import plan
from tests.plans import text_of
from tests.strings.examples import collection_of, ranking_of


def test_the_plan_states_size_privacy_and_error() -> None:
    collection = collection_of("epsilon: 4, k: 8")
    planned = plan(collection, populations=(20_000, 80_000))
    assert (planned.bits, planned.report_bytes, planned.state_bytes) == (46, 6, 10)
    assert planned.epsilon == planned.changed == collection.method.questions.epsilon
    assert [each.share for each in planned.questions] == pytest.approx([9 / 73, 25 / 73, 39 / 73])
    few, many = planned.errors
    assert few.standard_error == pytest.approx(2 * many.standard_error)
    assert few.least == 2 * few.standard_error
    ranking = ranking_of(collection, 20_000)
    assert ranking.strings is not None
    cherry = next(each for each in ranking.strings if each.string == "cherry")
    # It has the error of the noise and, as 15 % have it, that of the sampling of users.
    assert few.standard_error < cherry.standard_error < 3 * few.standard_error


def test_its_text_has_the_questions_and_the_cost() -> None:
    text = text_of(plan(collection_of("epsilon: 4, k: 8")))
    assert "all reports of a user's lifetime | epsilon 4.000, about one question" in text
    assert "the whole string | 53.4%" in text
