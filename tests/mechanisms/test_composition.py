"""The composition of a bound is never below the exact one, and near it."""

import itertools
import math
from fractions import Fraction

import pytest

from stream_ldp.mechanisms.composition import Losses, least_epsilon
from stream_ldp.mechanisms.shuffling import composed_epsilon, shuffled_epsilon
from tests.mechanisms.test_blanket import divergence, k_rr, shuffled


def response(epsilon: float, *, local: float) -> float:
    """Delta of randomised response (Warner, 1965)."""
    own = math.exp(local) / (math.exp(local) + 1)
    return max(0.0, own - math.exp(epsilon) * (1 - own))


def composed_response(epsilon: float, *, local: float, times: int) -> float:
    """Delta of so many of them: by how often both differ (Kairouz, Oh and Viswanath, 2015)."""
    own = math.exp(local) / (math.exp(local) + 1)
    return math.fsum(
        math.comb(times, k)
        * max(0.0, own**k * (1 - own) ** (times - k) - math.exp(epsilon) * own ** (times - k) * (1 - own) ** k)
        for k in range(times + 1)
    )


@pytest.mark.parametrize("local", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("times", [1, 2, 7, 30])
def test_randomised_responses_are_composed_as_exactly_as_they_can_be(local: float, times: int) -> None:
    delta = 1e-4
    losses = Losses.of(lambda epsilon: response(epsilon, local=local), delta=delta, most=local)
    found = losses.composed(times, delta=delta)
    assert composed_response(found, local=local, times=times) <= delta
    assert composed_response(0.99 * found, local=local, times=times) > delta or found >= 0.999 * times * local


def test_two_windows_of_three_users_tell_no_more_than_is_composed() -> None:
    """All that both windows may show of three users with a value of two, by enumeration."""
    own = Fraction(math.exp(1.0) / (math.exp(1.0) + 1))
    outputs = [[own, 1 - own], [1 - own, own]]
    for rest in itertools.combinations_with_replacement(range(2), 2):
        windows = [shuffled(outputs, (value, *rest)) for value in range(2)]
        one, other = (
            {(*left, *right): a * b for (left, a), (right, b) in itertools.product(each.items(), repeat=2)}
            for each in windows
        )
        for delta in (0.3, 0.1, 0.02):
            found = composed_epsilon(1.0, reports=3, delta=delta, times=2, blanket=k_rr(2, 1.0))
            assert divergence(one, other, found) <= delta
            assert divergence(other, one, found) <= delta


def test_windows_add_up_by_less_than_their_number() -> None:
    one = shuffled_epsilon(1.0, reports=10_000, delta=1e-8, blanket=k_rr(4, 1.0))
    ten = composed_epsilon(1.0, reports=10_000, delta=1e-8, times=10, blanket=k_rr(4, 1.0))
    assert 3.0 * one < ten < 3.5 * one, "nearly as the square root of their number"
    single = composed_epsilon(1.0, reports=10_000, delta=1e-8, times=1, blanket=k_rr(4, 1.0))
    assert one <= single <= 1.02 * one
    assert composed_epsilon(1.0, reports=1, delta=1e-8, times=10) == pytest.approx(10.0, rel=1e-3)


def test_the_least_epsilon_will_do_and_hardly_less_does() -> None:
    for delta in (0.4, 1e-3, 1e-12):
        found = least_epsilon(lambda epsilon: response(epsilon, local=2.0), delta=delta, most=2.0)
        assert response(found, local=2.0) <= delta < response(found - 1e-3, local=2.0)
    assert least_epsilon(lambda _: 0.0, delta=1e-9, most=2.0) == 0.0
    assert least_epsilon(lambda _: 1.0, delta=1e-9, most=2.0) == 2.0
