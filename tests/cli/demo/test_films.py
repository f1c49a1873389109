"""The demo's films: who has seen what, and what is said of a demo that is too short."""

import numpy as np

from stream_ldp.cli.demo.films import Films


def test_each_user_has_seen_1_to_8_films_and_earlier_films_are_more_popular() -> None:
    films = Films(users=5_000)
    sizes = films._sets.sizes
    assert (sizes.min(), sizes.max()) == (1, 8)
    frequency = films._sets.frequencies(films.collection.items.count)
    # Far apart in the list, so that chance does not turn them round.
    assert np.all(np.diff(frequency[[0, 1, 3, 7, 15, 39]]) < 0)


def test_a_demo_that_ends_before_an_epoch_says_so() -> None:
    assert "no epoch of films ended in that time: an epoch takes 12 s" in Films(users=10).summary()
