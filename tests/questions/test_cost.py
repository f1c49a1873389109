"""The cost of answers: each different one costs its epsilon, however often it is repeated."""

from __future__ import annotations

from stream_ldp.mechanisms import RepeatedResponse
from stream_ldp.questions.cost import AnswerCost, RepeatedCost


def test_an_answer_costs_once_what_it_reveals() -> None:
    cost = AnswerCost(epsilon=0.1)
    assert cost.responses_loss(responses=1, reports=1_000) == 0.1
    assert cost.responses_loss(responses=3, reports=1) >= 0.3
    assert AnswerCost.model_validate_json(cost.model_dump_json()) == cost


def test_a_repeated_answer_costs_what_its_reports_lose() -> None:
    response = RepeatedResponse(size=4, epsilon=2.0, for_ever=4.0)
    cost = RepeatedCost(size=4, permanent=response.kept, fresh=response.fresh)
    assert cost.is_concave
    assert cost.responses_loss(responses=1, reports=1) == response.epsilon
    assert cost.responses_loss(responses=1, reports=3) == response.loss(reports=3)
    assert cost.responses_loss(responses=2, reports=3) >= 2 * response.loss(reports=3)
    assert RepeatedCost.model_validate_json(cost.model_dump_json()) == cost
    many = RepeatedResponse(size=64, epsilon=0.1, for_ever=4.0)
    assert not RepeatedCost(size=64, permanent=many.kept, fresh=many.fresh).is_concave
