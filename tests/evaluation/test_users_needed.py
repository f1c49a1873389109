"""The users that a distance takes are found whatever the number to begin with, and to a few per cent."""

from collections.abc import Callable

import numpy as np
import pytest

from stream_ldp.evaluation.users_needed import MAX_USERS, Distance, users_needed

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


@pytest.mark.parametrize("begin", [4, 5_000, 900_000])
def test_the_users_needed_are_found_whatever_the_number_to_begin_with(begin: int) -> None:
    """Distance 2 / sqrt(N), so 0.02 takes 10,000 users."""
    measure = exactly(lambda users: 2 / users**0.5)
    found = users_needed(0.02, users=begin, repeats=REPEATS, measure=measure)
    assert found is not None
    assert found.users == 10_000
    assert found.error < 100


@pytest.mark.parametrize("repeats", [1, REPEATS])
def test_the_users_needed_are_known_to_the_error_that_is_said(repeats: int) -> None:
    """60 searches: the mean square of what they are off, in errors, has a standard error of 0.18."""
    off = []
    for seed in range(60):
        found = users_needed(0.02, users=4, repeats=repeats, measure=by_chance(seed))
        assert found is not None
        assert abs(found.users - 10_000) <= 2_000
        assert found.error <= 650
        off.append((found.users - 10_000) / found.error)
    assert 0.4 <= np.mean(np.square(off)) <= 1.8


@pytest.mark.parametrize("begin", [4, 100, 5_000, 900_000])
@pytest.mark.parametrize(
    ("distance", "wanted", "truth"),
    [
        (lambda users: min(0.5, 500 / users), 0.1, 5_000),
        (lambda users: users**-0.1, 0.5, 1_024),
        (lambda users: 0.2 if users < 5_000 else 0.01, 0.1, 5_000),
    ],
)
def test_the_users_needed_are_found_where_the_distance_is_no_root_of_their_number(
    distance: Callable[[int], float], wanted: float, truth: int, begin: int
) -> None:
    found = users_needed(wanted, users=begin, repeats=REPEATS, measure=exactly(distance))
    assert found is not None
    assert abs(found.users - truth) <= 0.05 * truth


@pytest.mark.parametrize("begin", [4, 5_000, 900_000])
@pytest.mark.parametrize("floor", [0.105, 0.12, 0.2])
def test_a_distance_that_stays_above_the_wanted_one_has_no_number_of_users(floor: float, begin: int) -> None:
    measure = exactly(lambda users: floor + 1 / users)
    assert users_needed(0.1, users=begin, repeats=REPEATS, measure=measure) is None


@pytest.mark.parametrize("wanted", [0.0019, 0.00185, 1e-6, 1e-200])
def test_a_distance_that_a_million_users_do_not_reach_needs_more_than_can_be_tried(wanted: float) -> None:
    measure = exactly(lambda users: 2 / users**0.5)
    assert users_needed(wanted, users=100, repeats=REPEATS, measure=measure) is None
    reached = users_needed(0.002, users=100, repeats=REPEATS, measure=measure)
    assert reached is not None
    assert reached.users == MAX_USERS


def test_a_distance_that_repeats_hardly_tell_is_searched_all_the_same() -> None:
    """With few users, most repeats may have no distance at all, and some a large one."""
    found = users_needed(0.2, users=4, repeats=5, measure=lambda users, repeats, round_: Distance(0.05, 0.11))
    assert found == (1, 0)


def test_reports_without_noise_take_one_user() -> None:
    found = users_needed(0.1, users=100, repeats=REPEATS, measure=exactly(lambda users: 0.0))
    assert found == (1, 0)
