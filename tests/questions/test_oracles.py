"""The oracles that a collection may name: which is chosen, and by how much it is better than the others."""

import math

import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, HadamardResponse, SubsetResponse
from stream_ldp.mechanisms.direct import epsilon_of_distortion
from stream_ldp.questions.oracles import VALUE_ORACLES, value_oracle

EPSILONS = [0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0]


@pytest.mark.parametrize("size", [2, 3, 4, 16, 64, 256, 1_000, 4_096])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_oracle_has_less_mean_variance_than_the_chosen_one(size: int, epsilon: float) -> None:
    chosen = value_oracle("auto", size, epsilon=epsilon).mean_variance
    for name in set(VALUE_ORACLES) - {"auto"}:
        assert chosen <= value_oracle(name, size, epsilon=epsilon).mean_variance * (1 + 1e-12), name
    for bits in range(1, 9):
        assert chosen <= HadamardResponse(size=size, epsilon=epsilon, hash_bits=bits).mean_variance * (1 + 1e-12)


def test_auto_takes_subset_selection_for_16_values() -> None:
    others: list[FrequencyOracle] = [DirectResponse(size=16, epsilon=0.5)]
    others += [HadamardResponse(size=16, epsilon=0.5, hash_bits=bits) for bits in range(1, 9)]
    best = min(each.mean_variance for each in others)
    chosen = value_oracle("auto", 16, epsilon=0.5)
    assert isinstance(chosen, SubsetResponse)
    assert best / chosen.mean_variance == pytest.approx(1.21, abs=0.01)


def test_of_sixteen_attributes_a_value_of_nine_in_ten_costs_at_most_4_3_with_a_sign_each() -> None:
    """N x variance, with the sampling of users; Harmony as printed, times d, has d c^2 - f, which is 16."""
    oracle = value_oracle("hadamard", 4, epsilon=4.0)
    p, q = oracle.support
    supported = q + 0.9 * (p - q)
    assert 16 * supported * (1 - supported) / (p - q) ** 2 <= 4.3
    c = (math.exp(4) + 1) / (math.exp(4) - 1)
    assert 16 * c**2 - 0.9 > 16


@pytest.mark.parametrize(("size", "distortion"), [(2, 0.1), (3, 0.5), (8, 0.7)])
def test_k_rr_sends_another_value_as_often_as_the_distortion_says(size: int, distortion: float) -> None:
    oracle = value_oracle("k-rr", size, epsilon=epsilon_of_distortion(distortion, size))
    p, _ = oracle.support
    assert 1 - p == pytest.approx(distortion, abs=1e-8)


@pytest.mark.parametrize(("size", "distortion"), [(2, 0.5), (3, 0.7), (5, 0.8)])
def test_a_distortion_that_says_nothing_is_refused(size: int, distortion: float) -> None:
    with pytest.raises(ParameterError, match="at which reports say nothing"):
        epsilon_of_distortion(distortion, size)


def test_an_oracle_that_is_not_for_so_many_values_is_refused() -> None:
    with pytest.raises(ParameterError, match="2 to 4096 values"):
        value_oracle("k-subset", 5_000, epsilon=1.0)
    assert isinstance(value_oracle("auto", 5_000, epsilon=1.0), HadamardResponse)
