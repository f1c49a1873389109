"""RAPPOR on Bloom filters: the published epsilons, the second noise, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest

from stream_ldp.audit.output_distribution import epsilon_of, realised_distribution, repeated_epsilon
from stream_ldp.errors import ParameterError
from stream_ldp.ledger.ledger import Spending
from stream_ldp.ledger.reports import AttributeReport
from stream_ldp.mechanisms import BloomResponse, ReportCost, SeededEntropy


@pytest.mark.parametrize(
    ("hashes", "p", "q", "one_report", "lifetime"),
    [
        (1, 0.0, 1.0, 2.197225, 2.197225),
        (2, 0.0, 1.0, 4.394449, 4.394449),
        (1, 0.5, 0.75, 0.537143, 2.197225),
        (2, 0.5, 0.75, 1.074286, 4.394449),
    ],
)
def test_the_losses_are_those_of_the_paper_at_f_of_one_half(
    hashes: int, p: float, q: float, one_report: float, lifetime: float
) -> None:
    """f = 0.5 is 2h ln 3 nats for ever; the losses of one report were enumerated by another program."""
    response = BloomResponse(size=4, hashes=hashes, lifetime=2 * hashes * math.log(3), p=p, q=q)
    assert response.epsilon == pytest.approx(one_report, abs=1e-6)
    assert response.lifetime == pytest.approx(lifetime, abs=1e-6)
    assert response.memoised.epsilon == pytest.approx(lifetime, abs=1e-6)
    assert epsilon_of(realised_distribution(response.memoised)) == pytest.approx(lifetime, abs=1e-6)


@pytest.mark.parametrize(("hashes", "first"), [(1, 1.603966), (2, 1.882460)])
def test_a_ledger_charges_what_so_many_reports_of_one_filter_lose_by_enumeration(hashes: int, first: float) -> None:
    response = BloomResponse(size=2 * hashes, hashes=hashes, lifetime=4.0, p=0.25, q=0.75)
    account = Spending().after([report(response.cost, times=1)])
    assert account.epsilon == pytest.approx(first, abs=1e-6)
    for reports in (1, 2):
        enumerated = repeated_epsilon(response, reports=reports)
        assert response.cost.responses_loss(responses=1, reports=reports) == pytest.approx(enumerated, abs=1e-12)
    many = response.cost.responses_loss(responses=1, reports=10**6)
    assert many == pytest.approx(response.lifetime, abs=1e-9)
    assert response.cost.responses_loss(responses=2, reports=math.inf) >= 2 * repeated_epsilon(
        response, reports=math.inf
    )


def test_a_filter_without_second_noise_is_charged_once_for_all_reports() -> None:
    response = BloomResponse(size=8, hashes=2, lifetime=3.0)
    assert Spending().after([report(response.cost, times=9)]).epsilon == response.lifetime
    assert not response.charged_by_report


def report(cost: ReportCost, *, times: int) -> AttributeReport:
    return AttributeReport(
        collection="urls", attributes=("url",), responses=("r",), mechanisms=(cost,), tags=("t",), times=times
    )


def test_a_report_without_second_noise_is_what_is_repeated() -> None:
    response = BloomResponse(size=8, hashes=2, lifetime=3.0)
    rows = response.perturb(np.arange(64), entropy=SeededEntropy(1))
    assert response.memoised is response
    assert np.array_equal(response.instantaneous(rows, entropy=SeededEntropy(2)), rows)


def test_the_second_noise_of_what_is_repeated_is_as_strong_as_stated() -> None:
    """Of 40,000 reports of 8 bits, each share is 5 standard deviations off for one seed in 10^5."""
    response = BloomResponse(size=8, hashes=1, lifetime=3.0, p=0.25, q=0.75)
    repeated = np.full((40_000, 1), 0b00001111, dtype=np.uint8)
    shares = response.sums(response.instantaneous(repeated, entropy=SeededEntropy(3))) / 40_000
    assert shares == pytest.approx([0.75] * 4 + [0.25] * 4, abs=5 * 0.433 / 200)
    assert response.title == "rappor of 1 hash"


def test_hashes_with_one_bucket_set_one_bit() -> None:
    response = BloomResponse(size=8, hashes=2, lifetime=30.0)
    rows = response.perturb(np.array([3 + 8 * 3, 3 + 8 * 5]), entropy=SeededEntropy(1))
    # At epsilon 30 a bit is flipped with probability 0.0006.
    assert rows.ravel().tolist() == [0b00001000, 0b00101000]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"hashes": 0}, "has 1 to 2 hashes here, got 0"),
        ({"hashes": 3}, "has 1 to 2 hashes here, got 3"),
        ({"size": 3}, "of 2 hashes has 4 to 64 bits here, got size=3"),
        ({"size": 65}, "of 2 hashes has 4 to 64 bits here, got size=65"),
        ({"p": 0.75, "q": 0.25}, "needs 0 <= p < q <= 1, got p=0.75 and q=0.25"),
        ({"lifetime": 1_000.0}, "beyond the resolution"),
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        BloomResponse(**{"size": 8, "hashes": 2, "lifetime": 2.0, **wrong})
