"""The cost of answers: each different one costs its epsilon, however often it is repeated."""

from __future__ import annotations

from stream_ldp.sampled.cost import AnswerCost


def test_an_answer_costs_once_what_it_reveals() -> None:
    cost = AnswerCost(epsilon=0.1)
    assert cost.responses_loss(responses=1, reports=1_000) == 0.1
    assert cost.responses_loss(responses=3, reports=1) >= 0.3
    assert AnswerCost.model_validate_json(cost.model_dump_json()) == cost
