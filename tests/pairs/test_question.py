"""The question about one key: which is drawn, and to which end its number is rounded."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.mechanisms import SeededEntropy
from tests.pairs.examples import collection_of

if TYPE_CHECKING:
    from stream_ldp.questions.questions import Table

USERS = 40_000


def alike(numbers: tuple[float, float, float]) -> Table:
    return np.array([numbers] * USERS, dtype=[("0", "<f8"), ("1", "<f8"), ("2", "<f8")])


@pytest.mark.parametrize(
    ("numbers", "shares"),
    [
        ((np.nan, np.nan, np.nan), [0, 0, 0, 0, 0, 0, 1]),
        ((15, np.nan, np.nan), [0.375, 0.125, 0, 0, 0, 0, 0.5]),
        ((15, np.nan, 1), [0.375, 0.125, 0, 0, 0, 0.5, 0]),
        ((0, 10, 0), [1 / 3, 0, 0, 1 / 3, 1 / 6, 1 / 6, 0]),
    ],
)
def test_a_slot_and_an_end_are_drawn(numbers: tuple[float, float, float], shares: list[float]) -> None:
    """Within 5 standard errors, at most 0.0025 each: 1 seed in 10^6 for each share."""
    inputs = collection_of().question.inputs(alike(numbers), entropy=SeededEntropy(3))
    assert np.bincount(inputs, minlength=7) / USERS == pytest.approx(np.array(shares), abs=0.0126)


@pytest.mark.parametrize("oracle", ["auto", "k-rr", "k-subset", "oue"])
def test_no_answer_loses_more_than_epsilon_whatever_two_users_hold(oracle: str) -> None:
    """The distribution of the answers of a user is a mixture of those of values, by hand for users of 0 to 3 keys."""
    question = collection_of(f"epsilon: 1.5, padding: 2, oracle: {oracle}").question
    stated = question.randomizer.stated()
    half, third, sixth = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)
    users = [
        {6: Fraction(1)},
        {0: half, 6: half},
        {1: half, 6: half},
        {0: half, 3: half},
        {1: third, 2: third, 4: sixth, 5: sixth},
    ]
    answers = [sum(share * stated[value] for value, share in user.items()) for user in users]
    worst = 0.0
    for one in [*answers, *stated]:
        for other in [*answers, *stated]:
            possible = [(a, b) for a, b in zip(one, other, strict=True) if a or b]
            assert all(b for _, b in possible)
            worst = max(worst, *(float(a / b) for a, b in possible))
    assert np.log(worst) == pytest.approx(question.randomizer.epsilon, abs=1e-9)
    assert question.randomizer.epsilon <= 1.5
