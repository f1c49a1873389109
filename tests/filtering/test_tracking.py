"""Numbers that move while others stay are told from those that chance has moved."""

import numpy as np
import pytest

from stream_ldp.filtering.tracking import filtered_scores, unexpected

ONE_GROUP = np.zeros(1, dtype=np.intp)


def test_scores_of_numbers_that_do_not_lag_have_variance_1() -> None:
    """4,000 numbers for 40 windows: the standard error of the variance is 0.022."""
    rng = np.random.default_rng(1)
    scores = np.zeros(4_000)
    for _ in range(40):
        scores = filtered_scores(scores, rng.normal(size=4_000))
    assert np.var(scores) == pytest.approx(1.0, abs=0.09)


@pytest.mark.parametrize("lag", [0.8, 1.0, 1.5])
def test_the_square_of_a_lag_is_found_if_every_window_shows_it(lag: float) -> None:
    scores = np.zeros(1)
    for _ in range(60):
        scores = filtered_scores(scores, np.full(1, lag))
    found = unexpected(scores, np.full(1, lag), ONE_GROUP)
    # What chance may have added to the square of the score, 1, is taken off.
    np.testing.assert_allclose(found, lag**2 - 1.0 / 19.0, rtol=0.15)


@pytest.mark.parametrize(("score", "least", "most"), [(0.5, 0.0, 0.0), (1.5, 0.0, 0.03), (2.0, 0.02, 0.1)])
def test_what_may_be_chance_is_hardly_believed(score: float, least: float, most: float) -> None:
    found = unexpected(np.full(1, score), np.zeros(1), ONE_GROUP)
    assert least <= found[0] <= most


@pytest.mark.parametrize(("score", "least", "most"), [(1.0, 0.0, 0.0), (2.5, 0.0, 0.2), (4.5, 10.0, 19.25)])
def test_a_jump_is_believed_at_once_if_it_is_large(score: float, least: float, most: float) -> None:
    found = unexpected(np.zeros(1), np.full(1, score), ONE_GROUP)
    assert least <= found[0] <= most


def test_a_group_that_moves_together_is_believed_where_none_of_its_numbers_would_be() -> None:
    scores = np.append(np.full(25, 1.6), np.zeros(25))
    of_two = np.repeat([0, 1], 25)
    found, by_itself = (unexpected(scores, np.zeros(50), groups) for groups in (of_two, np.arange(50)))
    assert found[:25].min() > 2.0 * by_itself[:25].max() > 0.0
    assert found[25:].max() == 0.0


def test_thousands_of_numbers_that_are_where_they_were_expected_have_not_moved() -> None:
    """The chance that all have is 0 in floats, and with 10^200 standard deviations, that none has is."""
    none = np.zeros(5_000, dtype=np.intp)
    assert not unexpected(np.full(5_000, 0.5), np.full(5_000, 0.5), none).any()
    assert np.isfinite(unexpected(np.full(5_000, 1e200), np.full(5_000, 1e200), none)).all()
