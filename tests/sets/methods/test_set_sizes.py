"""Where users report how large their sets are, frequencies are those of whole sets, with errors that hold."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from stream_ldp.mechanisms import HadamardResponse, SeededEntropy
from stream_ldp.sets.evaluation import popular_sets, run_epoch
from stream_ldp.sets.item_sets import ItemSets, classes_of
from stream_ldp.sets.methods.set_sizes import whole
from stream_ldp.sets.methods.spec import ASK
from stream_ldp.sets.phases import FoundSizes, RankingEstimate
from tests.benchmarks.zipf_sets import long_tailed_sets
from tests.sets.methods.examples import method

#: An oracle that draws one of the slots, so that each item of s has the weight min(1, l / s).
ONE_SLOT = HadamardResponse(size=64, epsilon=2.0)


def counted(frequency: list[float], error: float = 0.01) -> RankingEstimate:
    return RankingEstimate(
        items=np.arange(len(frequency)), frequency=np.array(frequency), standard_error=np.full(len(frequency), error)
    )


def reported(*share: float, error: float = 1e-3) -> FoundSizes:
    return FoundSizes(share=share, standard_error=error)


def test_frequencies_of_sets_that_all_fit_stay_with_hardly_a_doubt() -> None:
    estimate = counted([0.7, 0.2, 0.0, -0.01])
    found = whole(
        estimate, reported(0.3, 0.3, 0.4, 0.0, 0.0, 0.0), domain=32, shown=partial(ONE_SLOT.shown, padding=4)
    )
    assert found.frequency == pytest.approx(estimate.frequency, abs=2e-3)
    assert found.standard_error == pytest.approx(estimate.standard_error, rel=0.1)


@pytest.mark.parametrize("slots", [1, 4, 16])
@pytest.mark.parametrize("name", ["a long tail", "geometric"])
def test_without_noise_frequencies_are_right_within_their_doubt(name: str, slots: int) -> None:
    """Seeded, but for the sets nothing is drawn. One slot counts the rarer of the 32 items an eighth as often."""
    rng, users = np.random.default_rng(3), 10_000
    sets = {
        "a long tail": long_tailed_sets(users=users, domain=500, max_size=150),
        "geometric": popular_sets(np.minimum(rng.geometric(0.15, users), 60), rng, domain=500, exponent=1.0),
    }[name]
    truth = sets.frequencies(500)
    best = np.argsort(-truth)[:32]
    among = sets.restricted(best, domain=500)
    shown = partial(ONE_SLOT.shown, padding=slots)
    weights = np.repeat(shown(np.maximum(among.sizes, 1).astype(np.float64)), among.sizes)
    seen = np.bincount(among.items, weights=weights, minlength=32) / users
    share = np.bincount(classes_of(sets.sizes, count=8), minlength=8) / users
    found = whole(counted(seen.tolist(), error=1e-9), reported(*share), domain=500, shown=shown)
    assert np.max(np.abs(found.frequency / truth[best] - 1.0)) < 0.4
    assert (np.abs(found.frequency - truth[best]) < 2.0 * found.standard_error).all()


def test_frequencies_keep_their_order_and_their_sign() -> None:
    x = np.linspace(-0.05, 0.6, 40)
    found = whole(
        counted(x.tolist()),
        reported(0.4, 0.2, 0.1, 0.1, 0.1, 0.1),
        domain=32,
        shown=partial(ONE_SLOT.shown, padding=1),
    )
    assert (np.diff(found.frequency) > 0.0).all()
    assert (np.sign(found.frequency) == np.sign(x)).all()
    assert (found.standard_error >= 0.01).all()


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("name", ["a long tail", "few items", "all fit"])
def test_intervals_hold_the_truth_whatever_the_sizes_and_are_not_far_wider(name: str, epsilon: float) -> None:
    """Seeded. Of 40 or 128 intervals of 4 epochs, 0.9 hold; without the sizes 0.2 to 0.8 of long tails do."""
    rng, users = np.random.default_rng(1), 20_000
    sets, domain, k = {
        "a long tail": (long_tailed_sets(users=users, domain=1_024), 1_024, 32),
        "few items": (long_tailed_sets(users=users, domain=200, max_size=150), 200, 32),
        "all fit": (popular_sets(rng.integers(1, 4, users), rng, domain=500, exponent=1.0), 500, 10),
    }[name]
    asked, truth = method("gfim-users", domain=domain, k=k, epsilon=epsilon, set_size=ASK), sets.frequencies(domain)
    estimates = [run_epoch(asked, sets, entropy=SeededEntropy(seed)) for seed in range(4)]
    off = np.array([each.frequency[:k] - truth[each.items[:k]] for each in estimates])
    error = np.array([each.standard_error[:k] for each in estimates])
    assert np.mean(np.abs(off) < 1.96 * error) >= 0.9
    assert np.sqrt(np.mean(error**2) / np.mean(off**2)) < 2.5


def test_large_sets_without_the_popular_items_are_in_the_doubt() -> None:
    """Seeded. A seventh of the users hold 30 items, none likelier than others: what they hold is no popular item."""
    rng, users = np.random.default_rng(7), 20_000
    small = popular_sets(rng.integers(1, 5, users), rng, domain=300, exponent=1.0)
    sets = ItemSets.of(
        rng.choice(300, 30, replace=False).tolist() if user % 7 == 0 else small[[user]].items.tolist()
        for user in range(users)
    )
    asked, truth = method("gfim-users", domain=300, k=10, epsilon=2.0, set_size=ASK), sets.frequencies(300)
    estimates = [run_epoch(asked, sets, entropy=SeededEntropy(seed)) for seed in range(4)]
    off = np.array([each.frequency[:10] - truth[each.items[:10]] for each in estimates])
    assert np.mean(np.abs(off) < 1.96 * np.array([each.standard_error[:10] for each in estimates])) >= 0.85
