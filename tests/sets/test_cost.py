"""The cost of permanent signs, as a ledger keeps it."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from stream_ldp.sets.cost import SignCost
from tests.sets.methods.examples import build


def cost() -> SignCost:
    (phase,) = build("loloha", epsilon=1.0, for_ever=2.0).phases
    assert phase.memoised is not None
    return phase.memoised


def test_a_ledger_reads_the_same_cost_as_it_wrote() -> None:
    assert SignCost.model_validate_json(cost().model_dump_json()) == cost()


def test_signs_cost_what_their_reports_show_and_add_up() -> None:
    assert cost().loss(reports=1) == pytest.approx(1.0, abs=1e-8)
    assert cost().loss(reports=math.inf) == pytest.approx(2.0, abs=1e-8)
    assert cost().responses_loss(responses=2, reports=3) == pytest.approx(2 * cost().loss(reports=3), abs=1e-12)
    assert cost().responses_loss(responses=0, reports=3) == 0.0


@pytest.mark.parametrize("chance", [0, 2**31, 2**32])
def test_a_chance_that_no_response_has_is_refused(chance: int) -> None:
    with pytest.raises(ValidationError):
        SignCost(permanent=chance, fresh=cost().fresh)
