"""Reports as a ledger charges them: those that show one permanent answer are one entry."""

from stream_ldp.ledger.reports import answers_shown
from stream_ldp.mechanisms import AnswerCost
from tests.ledger.surveys import collection_of


def test_reports_that_show_one_answer_are_counted_together() -> None:
    cost = AnswerCost(epsilon=1.0)
    shown = answers_shown(collection_of(2), 3, attribute="age", cost=cost, tags=["a", None, "a"])
    assert [(each.tags, each.times) for each in shown] == [(("a",), 2), (None, 1)]
    assert {each.responses for each in shown} == {(f"{collection_of(2).fingerprint.hex()} 3",)}
