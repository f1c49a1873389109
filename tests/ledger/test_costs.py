"""The costs that a ledger keeps: what was shown costs what it reveals, and is read as it was written."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from stream_ldp.ledger.costs import AnswerCost, RepeatedCost, SignCost
from stream_ldp.mechanisms import RepeatedResponse
from tests.sets.methods.examples import build


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


def of_a_sign() -> SignCost:
    (phase,) = build("loloha", epsilon=1.0, for_ever=2.0).phases
    assert phase.memoised is not None
    return phase.memoised


def test_a_ledger_reads_the_same_cost_as_it_wrote() -> None:
    assert SignCost.model_validate_json(of_a_sign().model_dump_json()) == of_a_sign()


def test_signs_cost_what_their_reports_show_and_add_up() -> None:
    assert of_a_sign().loss(reports=1) == pytest.approx(1.0, abs=1e-8)
    assert of_a_sign().loss(reports=math.inf) == pytest.approx(2.0, abs=1e-8)
    twice = pytest.approx(2 * of_a_sign().loss(reports=3), abs=1e-12)
    assert of_a_sign().responses_loss(responses=2, reports=3) == twice
    assert of_a_sign().responses_loss(responses=0, reports=3) == 0.0


@pytest.mark.parametrize("chance", [0, 2**31, 2**32])
def test_a_chance_that_no_response_has_is_refused(chance: int) -> None:
    with pytest.raises(ValidationError):
        SignCost(permanent=chance, fresh=of_a_sign().fresh)
