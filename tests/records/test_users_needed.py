"""The users that a distance takes are found whatever the number to begin with, and to a few per cent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stream_ldp.records.users_needed import MOST_USERS, Distance, users_needed

REPEATS = 10


def exactly(distance: Callable[[int], float]) -> Callable[[int, int, int], Distance]:
    """Measure a distance that no repeat is off."""
    return lambda users, repeats, round_: Distance(distance(users), 0.0)


def by_chance(seed: int) -> Callable[[int, int, int], Distance]:
    """Measure 2 / sqrt(N), of which repeats are off by a quarter."""

    def measure(users: int, repeats: int, round_: int) -> Distance:
        rng = np.random.default_rng([seed, users, repeats, round_])
        drawn = 2 / np.sqrt(users) * rng.normal(1.0, 0.25, size=repeats)
        return Distance(float(drawn.mean()), float(drawn.std(ddof=1)))

    return measure


@pytest.mark.parametrize("begin", [10, 5_000, 900_000])
def test_the_users_needed_are_found_whatever_the_number_to_begin_with(begin: int) -> None:
    """Distance 2 / sqrt(N), so 0.02 takes 10,000 users."""
    measure = exactly(lambda users: 2 / users**0.5)
    assert users_needed(0.02, users=begin, repeats=REPEATS, measure=measure) == (10_000, 0)


def test_the_users_needed_are_known_to_the_error_that_is_said() -> None:
    """40 searches: the mean square of what they are off, in errors, has a standard error of 0.22."""
    off = []
    for seed in range(40):
        found = users_needed(0.02, users=4, repeats=REPEATS, measure=by_chance(seed))
        assert found is not None
        assert abs(found.users - 10_000) <= 2_000
        off.append((found.users - 10_000) / found.error)
    assert 0.4 <= np.mean(np.square(off)) <= 1.8


def test_the_users_needed_are_found_where_the_distance_is_no_root_of_their_number() -> None:
    """It stays until there are a thousand, then falls with their number: 0.1 takes 5,000."""
    measure = exactly(lambda users: min(0.5, 500 / users))
    found = users_needed(0.1, users=100, repeats=REPEATS, measure=measure)
    assert found is not None
    assert 4_500 <= found.users <= 5_500


def test_a_distance_that_a_million_users_do_not_reach_needs_more_than_can_be_tried() -> None:
    measure = exactly(lambda users: 2 / users**0.5)
    assert users_needed(0.001, users=100, repeats=REPEATS, measure=measure) is None
    assert users_needed(0.00199, users=MOST_USERS, repeats=REPEATS, measure=measure) == (MOST_USERS, 0)


def test_reports_without_noise_take_one_user() -> None:
    found = users_needed(0.1, users=100, repeats=REPEATS, measure=exactly(lambda users: 0.0))
    assert found == (1, 0)
