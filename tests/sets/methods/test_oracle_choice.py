"""Tests of the choice of oracle: it has the least variance, and spends all of epsilon on a set."""

import math
from collections.abc import Iterable

import numpy as np
import pytest

from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, HadamardResponse, SeededEntropy
from stream_ldp.mechanisms.direct import amplified
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.oracle_choice import best_padding, item_oracle, value_oracle, variance
from stream_ldp.sets.phases import Inquiry
from stream_ldp.sets.sampling import respond
from tests.sets.methods.examples import method


def _of(size: int, padding: int, epsilon: float, hash_bits: int | None = None) -> FrequencyOracle:
    return item_oracle(size, padding=padding, epsilon=epsilon, hash_bits=hash_bits)


def test_a_few_values_get_direct_response_and_many_get_hashing() -> None:
    # A direct response is better up to 3 e^epsilon + 2 values (Wang et al., 2017, section 4.4), near 24 at epsilon 2.
    assert isinstance(value_oracle(20, epsilon=2.0, hash_bits=None), DirectResponse)
    hashing = value_oracle(40, epsilon=2.0, hash_bits=None)
    assert isinstance(hashing, HadamardResponse)
    assert hashing.hash_bits == 3  # 2^3 is next to e^2 + 1 = 8.4


def test_few_items_get_direct_response_and_many_a_whole_set_response_where_possible() -> None:
    direct = _of(64, 8, 2.0)
    assert isinstance(direct, DirectResponse)
    assert direct.dummies == 8
    assert isinstance(_of(4_096, 8, 2.0), SetHadamardResponse)
    assert isinstance(_of(4_096, 1, 2.0), HadamardResponse)
    assert isinstance(_of(2**20, 200, 0.2), HadamardResponse), "2^8 hashes are too few for sets of 200"


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("padding", [1, 5, 30])
def test_no_other_choice_has_less_variance(epsilon: float, padding: int) -> None:
    for size in (50, 500, 100_000):

        def error(oracle: FrequencyOracle, factor: int, *, mean: float = padding / size) -> float:
            return factor**2 * variance(oracle, frequency=mean / factor)

        chosen = _of(size, padding, epsilon)
        taken = error(chosen, chosen.scale(padding=padding)) * (1 - 1e-9)
        for bits in range(1, 9):
            assert taken <= error(HadamardResponse(size=size, epsilon=epsilon, hash_bits=bits), padding)
            if 1 < padding <= 2**bits / 2:
                whole = SetHadamardResponse(size=size, slots=padding, epsilon=epsilon, hash_bits=bits)
                assert taken <= error(whole, 1)
        spent = amplified(epsilon, padding=padding)
        assert taken <= error(DirectResponse(size=size, dummies=padding, epsilon=spent), padding)


def test_requested_hash_bits_are_used_even_if_they_are_worse() -> None:
    for oracle in (_of(64, 8, 4.0, hash_bits=1), value_oracle(5, epsilon=4.0, hash_bits=1)):
        assert isinstance(oracle, HadamardResponse)
        assert oracle.hash_bits == 1


def test_amplification_by_sampling_costs_the_set_exactly_epsilon() -> None:
    """A set gives an item the chance q + (p - q) / l at most and q at least."""
    for epsilon, padding in ((0.5, 1), (2.0, 7), (4.0, 30)):
        p, q = DirectResponse(size=40, dummies=padding, epsilon=amplified(epsilon, padding=padding)).support
        assert math.log((q + (p - q) / padding) / q) == pytest.approx(epsilon, abs=1e-6)


@pytest.mark.parametrize(("size", "padding", "epsilon"), [(30, 6, 1.0), (3_000, 6, 2.0), (3_000, 1, 3.0)])
def test_the_stated_variance_is_that_of_the_estimates(size: int, padding: int, epsilon: float) -> None:
    """Seeded. The variance over 30 items and 60 runs has a standard error near 3.5 %."""
    gfim = method("gfim-users", domain=size, k=5, epsilon=epsilon, set_size=padding)
    inquiry = gfim.first()
    oracle = gfim.oracle(inquiry)
    users = 1_000
    sets = ItemSets.of([[0, 1, 2][:padding]] * users)
    estimates = []
    for seed in range(60):
        rows = respond(gfim, inquiry, sets, entropy=SeededEntropy(seed))
        estimates.append(oracle.estimate(oracle.sums(rows), reports=users)[-25:])
    assert np.mean(np.square(estimates)) * users == pytest.approx(variance(oracle), rel=0.17)


def test_estimates_are_scaled_by_l_only_where_one_of_l_slots_is_reported() -> None:
    assert _of(64, 8, 2.0).scale(padding=8) == 8
    assert _of(4_096, 8, 2.0).scale(padding=8) == 1
    assert Inquiry(phase=1, candidates=None, padding=8).correction == 1.0


def test_the_best_set_size_is_far_below_the_largest_set() -> None:
    def telling(sizes: Iterable[int], *, domain: int) -> int:
        return best_padding(ItemSets.of(map(range, sizes)), k=domain, domain=domain, epsilon=1.0)

    assert telling([23] * 50, domain=119) == 23
    geometric = np.minimum(np.random.default_rng(0).geometric(1 / 7, 10_000), 30)
    assert 5 <= telling(geometric.tolist(), domain=4_096) <= 10
    # Two sets in three hold one item, and the largest 200.
    assert telling([1] * 20 + [3] * 5 + [20, 60, 200], domain=1_000) <= 3
    assert telling([0] * 5, domain=10) == 1


def test_the_largest_sets_do_not_decide_the_most_telling_size_where_they_hold_few_frequent_items() -> None:
    rng = np.random.default_rng(0)
    few = [[int(item)] for item in rng.choice(5, 900)]
    many = [rng.choice(195, 60, replace=False) + 5 for _ in range(100)]
    assert best_padding(ItemSets.of([*few, *many]), k=5, domain=200, epsilon=1.0) == 1
