"""A piecewise response: what an outcome says of a number, and the grid of least worst-case variance."""

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
    PiecewiseResponse(steps=4, width=3, epsilon=1.0, points=(9_000, 32_768, 56_536)),
    PiecewiseResponse(steps=4, width=2, epsilon=2.0, points=(100, 40_000, 50_000)),
    coin(2.0),
]
responses = pytest.mark.parametrize("response", RESPONSES, ids=repr)


@responses
def test_the_mean_estimate_from_every_point_is_the_point(response: PiecewiseResponse) -> None:
    assert response.channel.sum(axis=1) == pytest.approx(1)
    assert response.channel @ response.numbers == pytest.approx(response.grid, abs=1e-12)


@responses
def test_no_other_unbiased_estimate_has_less_variance_where_numbers_are_spread_evenly(
    response: PiecewiseResponse,
) -> None:
    """By weighted least squares; where the grid is not the same from both ends, by at most 2 %."""
    gaps = np.diff(response.grid)
    weights = (np.append(gaps, 0) + np.append(0, gaps)) / 4
    chances = weights @ response.channel
    least = (response.grid @ np.linalg.solve(response.channel / chances @ response.channel.T, response.grid)) or 0.0
    symmetric = np.allclose(response.grid, -response.grid[::-1])
    assert least <= chances @ response.numbers**2 * (1 + 1e-9)
    assert chances @ response.numbers**2 <= least * (1 + (1e-9 if symmetric else 0.02))


@responses
@pytest.mark.parametrize("number", [-1.0, -0.3, 0.0, 0.77, 1.0])
def test_the_estimate_of_a_number_between_the_points_is_unbiased_with_the_variance_stated(
    response: PiecewiseResponse, number: float
) -> None:
    """Exact, from the distribution of all reports; chances of rounding are multiples of 2^-32."""

    def report(entropy: Entropy) -> int:
        points = rounded(np.array([number]), ends=response.ends, entropy=entropy)
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


#: The least worst-case variance of any channel from 17 points to 121 estimates, as the linear programme of
#: tests/benchmarks/mechanisms.py finds it.
PROGRAMME = {0.5: 16.003, 1.0: 3.9902, 2.0: 0.86495, 3.0: 0.30343, 4.0: 0.12643}


@pytest.mark.parametrize("epsilon", PROGRAMME)
def test_the_worst_case_is_within_3_percent_of_the_least_of_any_channel(epsilon: float) -> None:
    """The published hybrid (Wang et al., 2019) has 1.04 to 1.73 times as much, Harmony 1.04 to 8.5 times."""
    response = least_worst_case(epsilon)
    numbers = np.linspace(-1, 1, 10_001)
    assert response.variance(numbers).max() <= 1.03 * PROGRAMME[epsilon]
    assert response.worst_variance == pytest.approx(response.variance(numbers).max(), rel=1e-4)


@pytest.mark.parametrize("epsilon", [1e-6, 0.05, 8.0, 16.0])
def test_at_any_epsilon_it_is_no_worse_than_a_coin(epsilon: float) -> None:
    response = least_worst_case(epsilon)
    assert response.worst_variance <= coin(epsilon).worst_variance * (1 + 1e-6)
    assert response.epsilon <= epsilon


def test_no_other_width_is_better() -> None:
    response = least_worst_case(2.0)
    for width in (response.width - 3, response.width + 3):
        other = PiecewiseResponse(steps=response.steps, width=width, epsilon=2.0, points=response.points)
        assert other.worst_variance > response.worst_variance


def test_numbers_are_rounded_to_either_neighbour_and_keep_their_mean() -> None:
    """Word 2^31 is not below half of 2^32, the word before is."""
    words = GivenWords(np.array([2**31 - 1, 2**31, 0, 2**32 - 1], dtype=np.uint32))
    assert rounded(np.array([0.25, 0.25, -1.0, 1.0]), ends=(0, 1, 2, 3, 4), entropy=words).tolist() == [3, 2, 0, 4]


def test_the_chance_of_a_point_is_by_its_distance_from_the_number() -> None:
    """0.4 is 0.7 of the range: 0.4 of the way from the point at a half to the point at the end."""
    words = GivenWords(np.array([0.39 * 2**32, 0.41 * 2**32], dtype=np.uint32))
    assert rounded(np.array([0.4, 0.4]), ends=(0, 2**12, 2**15, 2**16), entropy=words).tolist() == [3, 2]


def test_a_report_has_the_documented_layout() -> None:
    """Outcomes 0 to 110 in 7 bits. From point 64, words 0 and 5: outcome 69; words 2^32 - 1 and 63: outcome 63."""
    response = PiecewiseResponse(steps=64, width=47, epsilon=1.0)
    words = GivenWords(np.array([0, 2**32 - 1, 5, 63], dtype=np.uint32))
    assert response.perturb(np.array([64, 64]), entropy=words).tolist() == [[69], [63]]


@pytest.mark.parametrize(("steps", "width"), [(0, 1), (1, 0), (2**12 + 1, 1)])
def test_impossible_grids_are_refused(steps: int, width: int) -> None:
    with pytest.raises(ParameterError):
        PiecewiseResponse(steps=steps, width=width, epsilon=1.0)


@pytest.mark.parametrize("points", [(1,), (2, 2), (3, 2), (0, 5), (5, 2**16)])
def test_points_that_are_no_grid_are_refused(points: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="between the ends of 3 steps are 2 points, ascending"):
        PiecewiseResponse(steps=3, width=1, epsilon=1.0, points=points)
