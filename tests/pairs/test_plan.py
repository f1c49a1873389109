"""The plan of key-value data: the errors that it predicts are those that are published."""

from __future__ import annotations

import pytest

from stream_ldp.pairs.plan import leverages, plan
from tests.pairs.examples import collection_of, estimates_of
from tests.plans import text_of


def test_the_planned_error_of_a_share_is_that_of_a_key_that_few_hold() -> None:
    collection = collection_of()
    planned = plan(collection, populations=(20_000,))
    published = estimates_of(collection, 20_000).keys[2]
    assert planned.frequencies[0].standard_error == pytest.approx(published.standard_error, rel=0.25)
    assert planned.means[0].standard_error == pytest.approx(5 * planned.frequencies[0].standard_error)


def test_its_text_says_what_a_report_costs() -> None:
    text = text_of(plan(collection_of(), populations=(1_000,)))
    assert "all reports of a user, for ever | epsilon 2.000, whatever keys are held" in text
    assert "share who hold a key | " in text


def test_a_crafted_answer_moves_as_much_as_there_are_slots() -> None:
    (one,), (two,) = leverages(collection_of("epsilon: 2, padding: 1")), leverages(collection_of())
    assert two.of_one == pytest.approx(2 * one.of_one)
