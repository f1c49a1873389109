"""Tests of the digits of numbers in text."""

import math

import pytest

from stream_ldp.digits import shown, shown_p


@pytest.mark.parametrize(
    ("number", "error", "text"),
    [
        (0.7536, 0.0118, "0.754"),
        (0.7536, 0.118, "0.75"),
        (0.7536, 0.00118, "0.7536"),
        (41.237, 1.3, "41.2"),
        (41.237, 13.0, "41"),
        (12345.6, 1300.0, "12346"),
        (0.123456789, None, "0.1235"),
        (0.123456789, 0.0, "0.1235"),
        (0.123456789, math.inf, "0.1235"),
        (None, 0.1, ""),
    ],
)
def test_a_number_has_the_digits_that_its_error_allows(number: float | None, error: float | None, text: str) -> None:
    assert shown(number, error) == text


def test_an_error_has_two_digits_of_its_own() -> None:
    assert [shown(error, error) for error in (0.0118, 0.118, 1.18, 0.00096)] == ["0.012", "0.12", "1.2", "0.00096"]


def test_the_probability_of_a_test_is_a_bound_where_the_test_can_say_no_less() -> None:
    assert shown_p(0.043) == "p = 0.043"
    assert shown_p(0.0) == "p < 1e-06"
    assert shown_p(0.001, least=0.001) == "p at most 0.001"
