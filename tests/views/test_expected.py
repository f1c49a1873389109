"""The error to expect of joint distributions."""

import math

import pytest

from stream_ldp.views.expected import expected_avd, rr_information


def test_what_nobody_tells_is_as_far_off_as_its_dependence() -> None:
    sure: dict[tuple[int, ...], float] = {(place,): 1e18 for place in range(3)}
    assert expected_avd((2, 3, 2), sure, users=1, dependence=0.07) == pytest.approx(0.07)
    sets = [(0, 1, 2)]
    assert expected_avd((2, 3, 2), sure, users=1, dependence=0.07, sets=sets) == pytest.approx(0.07 * math.sqrt(3))


def test_the_error_of_margins_falls_as_one_over_the_root_of_the_users() -> None:
    told: dict[tuple[int, ...], float] = {(0,): 0.5}
    assert expected_avd((4,), told, users=100) == pytest.approx(expected_avd((4,), told, users=400) * 2)


def test_an_error_is_never_more_than_one() -> None:
    assert expected_avd((2, 2), {}, users=10) == 1.0


def test_more_attributes_share_the_epsilon_of_a_record() -> None:
    few, many = rr_information((2,) * 2, epsilon=4.0), rr_information((2,) * 16, epsilon=4.0)
    assert few[0, 1] > 100 * many[0, 1]
    assert set(few) == {(0,), (1,), (0, 1)}
    # One attribute of two values: both bits are flipped with chance 1 / (1 + e^(epsilon / 2)).
    kept = math.exp(1) / (1 + math.exp(1))
    variance = kept * (1 - kept) / (2 * kept - 1) ** 2 / 2
    assert rr_information((2,), epsilon=2.0)[0,] == pytest.approx(1 / variance, rel=1e-6)
