"""The strength of the dependence of a pair, given what all pairs show."""

import numpy as np
import pytest

from stream_ldp.views.margins import centred
from stream_ldp.views.strength import Shown, learnt, shown


def pairs(count: int, *, strength: float, information: float, seed: int = 4) -> list[Shown]:
    """Draw dependences of 3 x 3 uniform values whose coefficients have this mean square, with noise."""
    rng = np.random.default_rng(seed)
    margin = np.full(3, 1 / 3)
    scale = np.hypot(strength, information**-0.5)
    return [shown(centred(scale * rng.standard_normal((3, 3))), information, (margin, margin)) for _ in range(count)]


def test_independent_pairs_are_shrunk_to_nothing() -> None:
    assert learnt(pairs(60, strength=0.0, information=1e4)).kept.max() < 0.15


def test_dependent_pairs_keep_what_is_no_noise() -> None:
    found = learnt(pairs(60, strength=0.03, information=1e4))
    assert np.median(found.kept) == pytest.approx(0.9, abs=0.05)
    assert np.median(found.square) == pytest.approx(9, rel=0.25)
    assert np.median(found.variance) == pytest.approx(0.9, abs=0.1)


def test_a_dependent_pair_among_independent_ones_is_kept() -> None:
    (strong,) = pairs(1, strength=0.1, information=1e4)
    assert learnt([*pairs(60, strength=0.0, information=1e4), strong]).kept[-1] > 0.9


def test_a_pair_that_shows_little_is_believed_more_among_dependent_ones() -> None:
    (weak,) = pairs(1, strength=0.01, information=1e4, seed=8)
    among = [learnt([*pairs(60, strength=strength, information=1e4), weak]).kept[-1] for strength in (0.0, 0.03)]
    assert among[0] < among[1] / 2


def test_an_attribute_of_one_value_depends_on_nothing() -> None:
    margin = np.ones(1)
    found = shown(np.zeros((1, 2)), 1e4, (margin, np.array([0.3, 0.7])))
    assert found.freedom == 0
    assert np.isfinite(learnt([found]).square).all()


def test_chance_in_many_pairs_at_once_is_hardly_believed() -> None:
    kept = [learnt(pairs(136, strength=0.0, information=1e4, seed=seed)).kept.mean() for seed in range(20)]
    assert np.mean(kept) < 0.015
    assert max(kept) < 0.04
