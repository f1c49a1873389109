"""Reports of several users in one call: a slip that one user alone does not show is found."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.audit.several_users import several_users_differences
from stream_ldp.mechanisms import BloomResponse, Entropy, PiecewiseResponse, Randomizer, SubsetResponse
from tests.catalogue import OF_NUMBERS, OF_VALUES

#: A Bloom filter whose bits are perturbed twice has the most outputs, which take a quarter of a minute.
EVERY = [
    pytest.param(each, marks=pytest.mark.long) if isinstance(each, BloomResponse) else each
    for each in dict.fromkeys(each for each, _ in [*OF_VALUES, *OF_NUMBERS])
]


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
