"""A privacy loss states what it claims and under which assumption, and is never shown rounded down."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.mechanisms import RRLDP, NotCovered, Values
from stream_ldp.mechanisms.privacy_loss import round_up, shown_epsilon, shown_guess, surest_guess

SURVEY = RRLDP(sizes=(2, 3), f=0.5, p=0.5, q=0.75)


@pytest.mark.parametrize("reports", [2, 3, math.inf])
def test_the_formula_for_a_constant_record_is_not_claimed_for_a_changing_one(reports: float) -> None:
    with pytest.raises(NotCovered, match="only while the record does not change"):
        SURVEY.privacy_loss(reports=reports, values=Values.CHANGING)


def test_one_report_is_covered_even_if_the_record_may_change_later() -> None:
    assert SURVEY.privacy_loss(values=Values.CHANGING).epsilon == SURVEY.epsilon()


def test_a_loss_names_its_neighbours_and_its_assumption() -> None:
    lifetime = SURVEY.privacy_loss(reports=math.inf)
    assert lifetime.assumption == (
        "any two records, if a user's record does not change, and all reports show the same permanent noise"
    )
    assert SURVEY.privacy_loss().assumption == "any two records"
    assert SURVEY.privacy_loss(neighbours=1).relation == "any two records that differ in at most 1 attribute"
    three = RRLDP(sizes=(2, 2, 2), f=0.5)
    assert three.privacy_loss(neighbours=2).relation == "any two records that differ in at most 2 attributes"


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [
        (3.0, "3.000"),
        (3, "3.000"),
        (3.0000000004, "3.001"),
        (math.nextafter(3.0, 4.0), "3.001"),
        (math.nextafter(3.0, 2.0), "3.000"),
        (3.0000049, "3.001"),
        (3.153829, "3.154"),
        (7.783641, "7.784"),
        (1.1, "1.100"),
        (0.3, "0.300"),
        (1e-12, "0.001"),
        (0.0, "0.000"),
        (365 * 22.0, "8030.000"),
        (1e14, "100000000000000.000"),
        (1e16, "1e+16"),
        (1e308, "1e+308"),
        (-1e308, "-1e+308"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_an_epsilon_is_shown_with_three_decimals_rounded_up(epsilon: float, shown: str) -> None:
    assert shown_epsilon(epsilon) == shown


@given(epsilon=st.floats(0, 1e6), decimals=st.integers(1, 9))
def test_a_shown_epsilon_is_never_below_the_true_one_and_hardly_above(epsilon: float, decimals: int) -> None:
    shown = shown_epsilon(epsilon, decimals=decimals)
    assert len(shown.partition(".")[2]) == decimals
    assert float(shown) >= epsilon
    assert Decimal(shown) - Decimal(epsilon) < Decimal(10) ** -decimals * Decimal("1.0001")


@given(losses=st.lists(st.floats(0, 1e6), max_size=20))
def test_a_loss_is_rounded_once_and_never_down(losses: list[float]) -> None:
    exact = sum(map(Fraction, losses), Fraction())
    rounded = round_up(exact)
    assert Fraction(math.nextafter(rounded, -math.inf)) < exact <= Fraction(rounded)


@pytest.mark.parametrize("exact", [Decimal("0.1"), Fraction(1, 10), Decimal(10), Fraction(10), Decimal("Infinity")])
def test_decimals_and_fractions_are_rounded_alike(exact: Decimal | Fraction) -> None:
    assert round_up(exact) == float(exact)


def test_a_number_between_two_floats_is_rounded_to_the_upper_one() -> None:
    for third in (Fraction(1, 3), Decimal(1) / Decimal(3)):
        assert round_up(third) == math.nextafter(1 / 3, 1)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 3.0])
def test_the_surest_guess_is_the_posterior_of_the_odds_that_epsilon_allows(epsilon: float) -> None:
    odds = math.exp(epsilon)
    assert surest_guess(epsilon) == pytest.approx(odds / (1 + odds), rel=1e-15)


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [
        (0.0, "50.0 %"),
        (1.0, "73.2 %"),
        (math.log(9), "90.0 %"),
        (3.0, "95.3 %"),
        (6.9, "99.9 %"),
        (7.0, "over 99.9 %"),
    ],
)
def test_the_surest_guess_is_shown_rounded_up_and_never_as_certainty(epsilon: float, shown: str) -> None:
    assert shown_guess(epsilon) == shown


def test_a_survey_for_which_we_would_stand_leaves_one_in_ten_to_the_surest_guess() -> None:
    lifetime = SURVEY.privacy_loss(neighbours=1, reports=math.inf).epsilon
    assert lifetime == pytest.approx(math.log(9), abs=1e-9)
    assert surest_guess(lifetime) == pytest.approx(0.9, abs=1e-9)
