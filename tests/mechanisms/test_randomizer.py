"""What all randomizers have in common: the inputs that they take, and that one without a test flags nobody."""

from typing import Any

import numpy as np
import pytest

from stream_ldp.mechanisms import RANDOMIZERS, AnswerCost
from stream_ldp.mechanisms.randomizer import checked_values, no_outputs


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, -1], "a value is negative"),
        ([0, 7], "beyond the 7 values and dummies, 0 to 6"),
        ([0.0], "integers of shape (n,), got float64 of shape (1,)"),
        ([[0]], "integers of shape (n,), got int64 of shape (1, 1)"),
    ],
)
def test_inputs_that_no_user_can_have_are_refused(values: Any, message: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011  # the message is compared below, as it stands
        checked_values(np.array(values), choices=7)
    assert message in str(raised.value)


def test_a_distribution_to_be_filled_in_is_exact() -> None:
    outputs = no_outputs(3, 2)
    assert outputs.shape == (3, 4)
    assert {type(each).__name__ for each in outputs.flat} == {"Fraction"}


def test_every_kind_has_a_name_of_its_own() -> None:
    kinds = [each.kind for each in RANDOMIZERS]
    assert len(set(kinds)) == len(kinds)


def test_an_answer_costs_once_what_it_reveals() -> None:
    cost = AnswerCost(epsilon=0.1)
    assert cost.responses_loss(responses=1, reports=1_000) == 0.1
    assert cost.responses_loss(responses=3, reports=1) >= 0.3
    assert AnswerCost.model_validate_json(cost.model_dump_json()) == cost
