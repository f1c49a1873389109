"""Randomizers that are written in one word, and a slip that shows for several users in one call only."""

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.audit.one_report import several_users_differences
from stream_ldp.mechanisms import BloomResponse, Entropy, PiecewiseResponse, Randomizer, SubsetResponse
from tests.catalogue import OF_NUMBERS, OF_VALUES
from tests.cli.audits import document

#: A Bloom filter whose bits are perturbed twice has the most outputs, which take a quarter of a minute.
EVERY = [
    pytest.param(each, marks=pytest.mark.long) if isinstance(each, BloomResponse) else each
    for each in dict.fromkeys(each for each, _ in [*OF_VALUES, *OF_NUMBERS])
]


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [
        ("hadamard:size=8,epsilon=1,hash_bits=1", 1.0),
        pytest.param("hadamard:size=100000,epsilon=2,hash_bits=3", 2.0, marks=pytest.mark.long),
        pytest.param("direct:size=8,epsilon=1.5", 1.5, marks=pytest.mark.long),
        # Quickly shown in test_oracle_attacks.py and test_oracle_reports.py.
        pytest.param("direct:size=8,dummies=2,epsilon=1.5", 1.5, marks=pytest.mark.long),
        pytest.param("unary:size=8,epsilon=2", 2.0, marks=pytest.mark.long),
        pytest.param("set-hadamard:size=4,slots=2,epsilon=1,hash_bits=2", 1.0, marks=pytest.mark.long),
        pytest.param("set-hadamard:size=100000,slots=5,epsilon=2,hash_bits=5", 2.0, marks=pytest.mark.long),
    ],
)
def test_an_oracle_is_audited_for_its_own_epsilon(mechanism: str, epsilon: float) -> None:
    exact = document(mechanism, "--exact")
    (row,) = exact["results"]
    assert row["enumerated"] == pytest.approx(row["claimed"], abs=1e-9, rel=0)
    assert epsilon - 1e-7 < row["claimed"] <= epsilon
    assert exact["probabilities_as_stated"] is True
    assert ("miniature" in exact) is ("100000" in mechanism)
    attacked = document(mechanism, "--trials", 1_000, "--seed", 1)["results"]
    larger = ["perturb, larger sets"] if mechanism.startswith("set-") else []
    assert [each["target"] for each in attacked] == ["perturb", "perturb, singly", *larger]
    assert all(0 < each["lower_bound"] <= each["epsilon"] <= epsilon for each in attacked)


@pytest.mark.parametrize("randomizer", EVERY, ids=repr)
def test_users_of_every_randomizer_are_independent_of_each_other(randomizer: Randomizer) -> None:
    assert list(several_users_differences(randomizer)) == []


class SharesItsNoise(PiecewiseResponse):
    """Perturbs one user, and moves all others by as much."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        one = super().perturb(values[:1], entropy=entropy)
        return np.repeat(one, len(values), axis=0)


class DrawsOneSubset(SubsetResponse):
    """Draws the others of all users at once, with the first user's own."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        rows = SubsetResponse.perturb(self, values, entropy=entropy)
        return np.repeat(rows[:1], len(values), axis=0)


@pytest.mark.parametrize(
    "twin",
    [SharesItsNoise(steps=1, width=1, epsilon=1.0), DrawsOneSubset(size=4, epsilon=1.0, members=2)],
    ids=lambda each: type(each).__name__,
)
def test_noise_that_users_share_is_found(twin: Randomizer) -> None:
    (difference,) = several_users_differences(twin)
    assert "2 users in a call" in difference
