"""Each repeat of an evaluation has users and noise of its own, and a seed determines both."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.evaluation.repeats import each_repeat


def test_users_are_drawn_without_replacement_as_long_as_there_are_enough() -> None:
    (some,), (many,) = (list(each_repeat(1, rows=5, users=users, seed=1)) for users in (5, 9))
    assert sorted(some.users.tolist()) == [0, 1, 2, 3, 4]
    assert len(many.users) == 9
    assert set(many.users.tolist()) <= {0, 1, 2, 3, 4}


def test_repeats_differ_in_users_and_noise_and_come_again_with_the_seed() -> None:
    first, second = each_repeat(2, rows=1_000, users=10, seed=1)
    again, _ = each_repeat(2, rows=1_000, users=10, seed=1)
    assert not np.array_equal(first.users, second.users)
    assert first.noise.generate_state(2).tolist() != second.noise.generate_state(2).tolist()
    assert np.array_equal(first.users, again.users)
    assert first.noise.generate_state(2).tolist() == again.noise.generate_state(2).tolist()


def test_a_population_of_nobody_is_refused() -> None:
    with pytest.raises(ParameterError, match="no rows"):
        next(each_repeat(1, rows=0, users=1, seed=1))


def test_some_are_kept_apart_and_nobody_is_drawn_from_them() -> None:
    for each in each_repeat(5, rows=10, users=40, seed=1, apart=0.2):
        assert len(each.apart) == 2
        assert sorted([*each.apart.tolist(), *each.others.tolist()]) == list(range(10))
        assert set(each.users.tolist()) == set(each.others.tolist())


def test_nobody_can_be_kept_apart_of_one() -> None:
    with pytest.raises(ParameterError, match="a table of 2 rows or more"):
        next(each_repeat(1, rows=1, users=1, seed=1, apart=0.2))
