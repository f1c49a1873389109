"""A repeated response: what reports of one permanent answer lose, and what each of them says."""

import math

import numpy as np
import pytest

from stream_ldp.audit.output_distribution import repeated_epsilon
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import DirectResponse, GivenWords, RepeatedCost, RepeatedResponse, SeededEntropy
from stream_ldp.mechanisms.repeated import repeated_loss


@pytest.mark.parametrize(
    ("size", "epsilon", "lifetime"), [(2, 0.5, 2.0), (3, 1.0, 4.0), (4, 2.0, 4.0), (8, 0.3, 3.0)]
)
@pytest.mark.parametrize("reports", [1, 2, 3, math.inf])
def test_reports_of_one_answer_lose_exactly_what_the_closed_form_says(
    size: int, epsilon: float, lifetime: float, reports: float
) -> None:
    response = RepeatedResponse(size=size, epsilon=epsilon, lifetime=lifetime)
    assert repeated_epsilon(response, reports=reports) == pytest.approx(response.loss(reports=reports), abs=1e-9)


def test_the_loss_grows_from_one_report_to_all() -> None:
    response = RepeatedResponse(size=4, epsilon=2.0, lifetime=4.0)
    losses = [response.loss(reports=reports) for reports in (1, 2, 3, 5, 1_000, math.inf)]
    assert losses == sorted(losses)
    assert losses == pytest.approx([2, 3.45, 3.92, 4.0, 4.0, 4.0], abs=0.005)
    assert (response.epsilon, response.lifetime) == (losses[0], losses[-1])
    assert 2 - 1e-8 < response.epsilon <= 2


def test_one_report_has_the_variance_of_a_direct_response_of_its_epsilon() -> None:
    repeated, direct = RepeatedResponse(size=4, epsilon=2.0, lifetime=4.0), DirectResponse(size=4, epsilon=2.0)
    assert repeated.support == pytest.approx(direct.support, abs=1e-8)


def test_of_many_values_the_second_report_may_lose_more_than_the_first() -> None:
    chances = RepeatedResponse(size=64, epsilon=0.1, lifetime=4.0).parameters[1:]
    first, second = (repeated_loss(*chances, size=64, reports=reports) for reports in (1, 2))
    assert second > 2 * first


def test_what_is_remembered_is_perturbed_again_for_every_report() -> None:
    response = RepeatedResponse(size=4, epsilon=1.0, lifetime=3.0)
    remembered = response.memoised.perturb(np.full(4_000, 2), entropy=SeededEntropy(1))
    sent = response.instantaneous(remembered, entropy=SeededEntropy(2))
    # Seeded; of 4,000 the deviation is at most 32.
    assert (remembered == sent).sum() == pytest.approx(4_000 * response.fresh / 2**32, abs=150)
    assert (remembered == 2).sum() == pytest.approx(4_000 * response.kept / 2**32, abs=150)
    # Word 2^32 - 1 changes it, and the word 1 takes the second of the three others.
    assert response.instantaneous(
        np.array([[3]], dtype=np.uint8), entropy=GivenWords(np.array([2**32 - 1, 1], dtype=np.uint32))
    ).tolist() == [[1]]


@pytest.mark.parametrize(
    ("size", "epsilon", "lifetime", "message"),
    [
        (1, 1.0, 2.0, "two values or more"),
        (3, 2.0, 2.0, "one report may cost less than all"),
        (3, 3.0, 2.0, "one report may cost less than all"),
        (3, math.nan, 2.0, "positive and finite"),
        (3, 1e-12, 2.0, "beyond the resolution"),
        (3, 1.0, 50.0, "beyond the resolution"),
    ],
)
def test_impossible_budgets_are_refused(size: int, epsilon: float, lifetime: float, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RepeatedResponse(size=size, epsilon=epsilon, lifetime=lifetime)


def test_a_repeated_answer_costs_what_its_reports_lose() -> None:
    response = RepeatedResponse(size=4, epsilon=2.0, lifetime=4.0)
    cost = RepeatedCost(size=4, permanent=response.kept, fresh=response.fresh)
    assert cost.is_concave
    assert cost.responses_loss(responses=1, reports=1) == response.epsilon
    assert cost.responses_loss(responses=1, reports=3) == response.loss(reports=3)
    assert cost.responses_loss(responses=2, reports=3) >= 2 * response.loss(reports=3)
    assert RepeatedCost.model_validate_json(cost.model_dump_json()) == cost
    many = RepeatedResponse(size=64, epsilon=0.1, lifetime=4.0)
    assert not RepeatedCost(size=64, permanent=many.kept, fresh=many.fresh).is_concave
