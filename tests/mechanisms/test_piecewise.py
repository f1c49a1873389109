"""A piecewise response: what an outcome says of a number, and the mixture of least worst-case variance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_ldp.audit.enumerate import distribution
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import Entropy, GivenWords, PiecewiseResponse
from stream_ldp.mechanisms.piecewise import coin, least_worst_case, rounded

RESPONSES = [
    PiecewiseResponse(steps=6, width=3, epsilon=1.0),
    PiecewiseResponse(steps=64, width=47, epsilon=1.0),
    PiecewiseResponse(steps=64, width=11, epsilon=6.0),
    coin(2.0),
]
responses = pytest.mark.parametrize("response", RESPONSES, ids=repr)


@responses
def test_the_mean_estimate_from_every_point_is_the_point(response: PiecewiseResponse) -> None:
    points = np.linspace(-1, 1, response.inputs)
    assert response.channel.sum(axis=1) == pytest.approx(1)
    assert response.channel @ response.numbers == pytest.approx(points, abs=1e-12)


@responses
@pytest.mark.parametrize("number", [-1.0, -0.3, 0.0, 0.77, 1.0])
def test_the_estimate_of_a_number_between_the_points_is_unbiased_with_the_variance_stated(
    response: PiecewiseResponse, number: float
) -> None:
    """Exact, from the distribution of all reports; chances of rounding are multiples of 2^-32."""

    def report(entropy: Entropy) -> int:
        points = rounded(np.array([number]), steps=response.steps, entropy=entropy)
        return int(np.flatnonzero(response.sums(response.perturb(points, entropy=entropy)))[0])

    found = distribution(report)
    chances, estimates = np.array(list(map(float, found.values()))), response.numbers[list(found)]
    mean = float(chances @ estimates)
    assert mean == pytest.approx(number, abs=1e-9)
    (stated,) = response.variance(np.array([number]))
    assert float(chances @ estimates**2) - mean**2 == pytest.approx(stated, rel=1e-8)


def test_a_coin_has_the_variance_of_duchi_and_harmony() -> None:
    for epsilon in (0.5, 1.0, 4.0):
        c = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
        numbers = np.linspace(-1, 1, 9)
        assert coin(epsilon).variance(numbers) == pytest.approx(c**2 - numbers**2, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 4.28), (2.0, 0.99), (4.0, 0.16), (6.0, 0.035)])
def test_the_worst_case_of_the_mixture_is_below_that_of_published_mechanisms(epsilon: float, most: float) -> None:
    """The published hybrid (Wang et al., 2019) has 4.29, 1.04, 0.22 and 0.070, Harmony 4.68, 1.72, 1.08 and 1.01."""
    response, share = least_worst_case(epsilon)
    numbers = np.linspace(-1, 1, 10_001)
    assert (share * response.variance(numbers) + (1 - share) * coin(epsilon).variance(numbers)).max() <= most


def test_at_a_small_epsilon_the_coin_alone_is_best() -> None:
    _, share = least_worst_case(0.5)
    assert share == 0


def test_no_mixture_with_another_width_or_share_is_better() -> None:
    response, share = least_worst_case(2.0)
    numbers = np.linspace(-1, 1, 513)
    of_coin = coin(2.0).variance(numbers)
    best = (share * response.variance(numbers) + (1 - share) * of_coin).max()
    for width in (response.width - 3, response.width + 3):
        other = PiecewiseResponse(steps=response.steps, width=width, epsilon=2.0).variance(numbers)
        assert min((each * other + (1 - each) * of_coin).max() for each in np.linspace(0, 1, 65)) > best


def test_numbers_are_rounded_to_either_neighbour_and_keep_their_mean() -> None:
    """Word 2^31 is not below half of 2^32, the word before is."""
    words = GivenWords(np.array([2**31 - 1, 2**31, 0, 2**32 - 1], dtype=np.uint32))
    assert rounded(np.array([0.25, 0.25, -1.0, 1.0]), steps=4, entropy=words).tolist() == [3, 2, 0, 4]


def test_a_report_has_the_documented_layout() -> None:
    """Outcomes 0 to 110 in 7 bits. From point 64, words 0 and 5: outcome 69; words 2^32 - 1 and 63: outcome 63."""
    response = PiecewiseResponse(steps=64, width=47, epsilon=1.0)
    words = GivenWords(np.array([0, 2**32 - 1, 5, 63], dtype=np.uint32))
    assert response.perturb(np.array([64, 64]), entropy=words).tolist() == [[69], [63]]


@pytest.mark.parametrize(("steps", "width"), [(0, 1), (1, 0), (2**12 + 1, 1)])
def test_impossible_grids_are_refused(steps: int, width: int) -> None:
    with pytest.raises(ParameterError):
        PiecewiseResponse(steps=steps, width=width, epsilon=1.0)
