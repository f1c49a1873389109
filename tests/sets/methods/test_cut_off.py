"""Tests of what padding cuts off, by a model of large sets."""

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.evaluation import popular_sets, run_epoch
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.cut_off import USUALLY_LARGER, Slots, doubt_of_compared, doubt_of_corrected
from stream_ldp.sets.methods.oracle_choice import item_oracle
from stream_ldp.sets.phases import RankingEstimate
from tests.sets.methods.examples import method

#: Frequencies of 60 items, of which the 20 most frequent are asked about later.
POPULAR: NDArray[np.float64] = 0.5 * np.arange(1, 61, dtype=np.float64) ** -0.8
CANDIDATES = POPULAR[:20]


def _sets(*, users: int, larger: float, size: int = 40, seed: int = 5) -> ItemSets:
    """Sets of 1 to 8 of 60 items, but for a part of them, which have so many."""
    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random(users) < larger, size, np.minimum(rng.geometric(1 / 3.5, users), 8))
    return popular_sets(sizes, rng, domain=60, exponent=1.0)


def _covered(kind: str, sets: ItemSets, *, epochs: int) -> tuple[float, float]:
    """Return the share of intervals that hold the truth, and how wide they are, in errors."""
    truth, asked = sets.frequencies(60), method(kind, domain=60, k=8, epsilon=2.0, set_size=8)
    off, errors = [], []
    for seed in range(epochs):
        found = run_epoch(asked, sets, entropy=SeededEntropy(seed))
        off.append(np.abs(found.frequency[:8] - truth[found.items[:8]]))
        errors.append(found.standard_error[:8])
    held = np.array(off) <= 1.96 * np.array(errors)
    return float(held.mean()), float(np.linalg.norm(errors) / np.linalg.norm(off))


@pytest.mark.parametrize("kind", ["gfim-users", "svim"])
def test_intervals_are_as_wide_as_errors_where_all_sets_fit(kind: str) -> None:
    """Seeded. Of 48 intervals, nominally 0.95, the standard error is 0.031: 0.82 is 4 below."""
    held, width = _covered(kind, _sets(users=20_000, larger=0.0), epochs=6)
    assert held >= 0.82
    assert width <= 2.0


@pytest.mark.parametrize("kind", ["gfim-users", "svim"])
def test_intervals_hold_the_truth_where_some_sets_are_five_times_as_large(kind: str) -> None:
    """Seeded. In an epoch, losses are nearly the same for all items: 6 epochs have an error of 0.09 at most."""
    held, _ = _covered(kind, _sets(users=20_000, larger=0.07), epochs=6)
    assert held >= 0.6


def _slots(items: int, padding: int = 4) -> Slots:
    oracle = item_oracle(items, padding=padding, epsilon=2.0, hash_bits=1)
    return Slots(items=items, padding=padding, oracle=oracle)


def _estimate(frequency: NDArray[np.float64], error: float) -> RankingEstimate:
    items = np.arange(len(frequency))
    return RankingEstimate(items=items, frequency=frequency, standard_error=np.full(len(items), error))


def _compared(
    part: float, *, error: float = 0.002, larger: float = USUALLY_LARGER
) -> tuple[NDArray[np.float64], float]:
    """Compute the doubt after an earlier phase that has counted this part of what the later one counts."""
    return doubt_of_compared(
        _estimate(part * CANDIDATES, error),
        _estimate(CANDIDATES, 0.002),
        earlier=_slots(60),
        later=_slots(20),
        share=float(CANDIDATES.sum() / POPULAR.sum()),
        larger=larger,
    )


def test_the_less_the_earlier_phase_has_counted_the_more_is_in_doubt() -> None:
    same, less = _compared(1.0), _compared(0.85)
    assert same[0].max() < 0.05
    assert (less[0] > 2.0 * same[0]).all()
    assert less[1] > 2.0 * same[1]


def test_rare_items_have_lost_more_than_frequent_ones() -> None:
    doubt, _ = _compared(0.85)
    assert (np.diff(doubt) >= 0.0).all()
    assert doubt[-1] > 1.5 * doubt[0]


def test_a_phase_without_reports_shows_nothing_of_the_loss() -> None:
    nothing, (as_before, _) = _compared(1.0, error=np.inf), _compared(1.0)
    assert (nothing[0] > 2.0 * as_before).all()
    assert _compared(1.0, error=np.inf, larger=0.01)[0].max() < 0.5 * nothing[0].max()


def test_a_correction_that_is_right_on_the_mean_is_in_doubt_for_each_item() -> None:
    """Small sets hold the most frequent item, too, which loses less than the others."""
    asked = _estimate(np.array([0.7, *np.full(19, 0.06)]), 0.01)
    doubt = doubt_of_corrected(asked, slots=_slots(20, padding=2), correction=1.3, doubt=0.0)
    assert ((doubt > 0.05) & (doubt < 0.3)).all()


def test_where_nothing_is_corrected_and_nothing_in_doubt_no_error_is_added() -> None:
    doubt = doubt_of_corrected(_estimate(CANDIDATES, 0.01), slots=_slots(20), correction=1.0, doubt=0.0)
    assert doubt == pytest.approx(np.zeros(20), abs=1e-6)


def test_any_number_of_candidates_has_doubts() -> None:
    """Seeded. Of 5,000 items, half look rarer than nobody's."""
    noise = np.random.default_rng(2).normal(0.0, 0.01, 5_000)
    doubt, _ = doubt_of_compared(
        _estimate(noise, 0.01),
        _estimate(noise, 0.01),
        earlier=_slots(9_000),
        later=_slots(5_000),
        share=0.6,
        larger=0.1,
    )
    assert np.isfinite(doubt).all()
    assert (doubt >= 0.0).all()
