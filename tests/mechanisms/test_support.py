"""A support gives an attribute's ratio of likelihoods, and refuses probabilities that cannot be decoded."""

import pytest

from stream_ldp.mechanisms import Support


def test_the_ratio_of_independent_bits_is_that_of_two_values_one_supported_and_one_not() -> None:
    """By Bayes: the supported one sent its 1 and the other a 0; or the other sent its 0 as a 1, and the first a 0."""
    one, zero = 0.75, 0.4
    assert Support.of_bits(one=one, zero=zero).ratio == pytest.approx(zero * (1 - one) / (one * (1 - zero)))


def test_the_ratio_of_a_named_value_is_that_of_its_two_chances() -> None:
    assert Support.of_one_value(one=0.6, zero=0.2).ratio == pytest.approx(1 / 3)


@pytest.mark.parametrize(("one", "zero"), [(0.5, 0.5), (0.2, 0.6), (1.1, 0.0), (0.5, -0.1), (0.0, 0.0)])
def test_chances_that_do_not_tell_a_value_from_others_are_refused(one: float, zero: float) -> None:
    for make in (Support.of_bits, Support.of_one_value):
        with pytest.raises(ValueError, match="0 <= zero < one <= 1"):
            make(one=one, zero=zero)


@pytest.mark.parametrize("ratio", [1.0, -0.1])
def test_a_ratio_out_of_its_range_is_refused(ratio: float) -> None:
    with pytest.raises(ValueError, match="a value that is not supported is the less likely one"):
        Support(one=0.75, zero=0.25, ratio=ratio)
