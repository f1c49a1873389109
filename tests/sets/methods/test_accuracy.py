"""Tests of the accuracy of rankings on populations with published figures. They are seeded.

Means of F1 and NDCG over five epochs have standard errors of 0.01 to 0.03 here; a bound is that of known figures
which the product was planned on, and honest other seeds stay above it by two standard errors or more.
"""

from typing import Any

import numpy as np
import pytest

from stream_ldp.cli.evaluate.known_table import TableFile
from stream_ldp.sets.item_sets import ItemSets
from tests.benchmarks.zipf_sets import long_tailed_sets, zipf_sets
from tests.paths import DATA
from tests.sets.methods.examples import scored

MUSHROOM = DATA / "mushroom.txt.gz"


@pytest.fixture(scope="module")
def zipf() -> ItemSets:
    return zipf_sets()


@pytest.fixture(scope="module")
def mushroom() -> ItemSets:
    if not MUSHROOM.exists():
        pytest.skip(f"no {MUSHROOM.name}: the transactions are no part of this repository")
    return ItemSets.of([int(item) - 1 for item in each] for each in TableFile(MUSHROOM, missing=None).item_sets)


def mean(
    sets: ItemSets, kind: str, *, epsilon: float, users: int, repeats: int = 5, **options: Any
) -> dict[str, float]:
    repeated = list(scored(sets, users=users, repeats=repeats, kind=kind, epsilon=epsilon, **options))
    return {name: float(np.mean([each[name] for each in repeated])) for name in repeated[0]}


def test_svim_finds_the_heavy_hitters_of_zipf_sets(zipf: ItemSets) -> None:
    # Means of 20 other epochs: 0.75 as published and 0.91 where the set size is known. Here is one of each.
    assert mean(zipf, "svim", epsilon=2.0, users=400_000, k=32, repeats=1)["f1"] >= 0.70
    assert mean(zipf, "svim", epsilon=2.0, users=400_000, k=32, set_size=15, repeats=1)["f1"] >= 0.80
    # The frequencies of ranks 32 and 33 differ by 0.0008, half a standard error: one of 32 is missed in every other
    # epoch, F1 0.969. The mean of 32 other epochs is 0.979.
    nearly = mean(zipf, "svim", epsilon=4.0, users=400_000, k=32, repeats=1)
    assert nearly["f1"] >= 0.93
    assert nearly["mse"] < 1e-4


def test_on_zipf_sets_splitting_users_beats_splitting_epsilon_which_beats_the_paper(zipf: ItemSets) -> None:
    # Over other seeds 0.91 to 0.93, 0.75 to 0.80, and 0.08 to 0.16 with sampling SH and the paper's combination.
    found = {
        name: mean(zipf, kind, epsilon=3.0, users=100_000, k=32, repeats=2, **options)["f1"]
        for name, kind, options in (
            ("users", "gfim-users", {"set_size": 15}),
            ("budget", "gfim", {"set_size": 15}),
            ("paper", "gfim", {"set_size": 30, "hash_bits": 1, "combine": "paper"}),
        )
    }
    assert found["users"] > found["budget"] > 0.65 > 0.3 > found["paper"]


@pytest.mark.parametrize("max_size", [8, 30])
@pytest.mark.parametrize("kind", ["gfim", "gfim-users", "ldpminer", "svim"])
def test_nine_in_ten_published_frequencies_are_within_their_intervals(kind: str, max_size: int) -> None:
    """Where all sets fit the set size, and where one in ten is larger and a tenth of all items are lost.

    Of 160 intervals, .91 to 1 hold the truth with eight other seeds, on average .96 to .99. .85 is three standard
    errors below a share of .92. Without regard to how candidates were chosen, those of ldpminer held .1 to .5.
    """
    sets = zipf_sets(users=20_000, domain=512, mean_size=5.0, max_size=max_size)
    usual = int(np.quantile(sets.sizes, 0.9))
    found = mean(sets, kind, epsilon=2.0, users=20_000, k=32, set_size=usual)
    assert found["coverage"] >= 0.85


@pytest.mark.long
@pytest.mark.parametrize("kind", ["gfim", "gfim-users", "svim"])
def test_intervals_hold_where_a_tenth_of_the_sets_has_two_thirds_of_all_items(kind: str) -> None:
    """With ten other seeds, .94 to .97 of them do, and .86 to .91 did when all items were taken to lose alike."""
    sets = long_tailed_sets(users=100_000)
    usual = int(np.quantile(sets.sizes, 0.9))
    found = mean(sets, kind, epsilon=4.0, users=100_000, k=32, set_size=usual, repeats=4)
    assert found["coverage"] >= 0.9


#: NDCG at epsilon 1, 3 and 6 of a first implementation with 100,000 users and 30 candidates, the best of several |E|.
KNOWN = {
    "gfim": (0.66, 0.76, 0.83),
    "gfim-users": (0.60, 0.81, 0.85),
    "ldpminer": (0.59, 0.82, 0.89),
    "svim": (0.89, 0.93, 0.97),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "svim" else pytest.mark.long) for kind in KNOWN]
)
def test_mushroom_rankings_are_at_least_as_good_as_the_known_figures(mushroom: ItemSets, kind: str) -> None:
    found = [
        mean(mushroom, kind, epsilon=epsilon, users=100_000, k=10, set_size=23, repeats=10)["ndcg"]
        for epsilon in (1.0, 3.0, 6.0)
    ]
    assert all(ours >= theirs for ours, theirs in zip(found, KNOWN[kind], strict=True)), found


@pytest.mark.long
def test_the_published_methods_reproduce_the_known_mushroom_figures(mushroom: ItemSets) -> None:
    """This shows that NDCG is defined here as there: 20 epochs, standard errors near 0.015."""
    for kind, expected in (("gfim", 0.80), ("ldpminer", 0.82)):
        published = mean(
            mushroom, kind, epsilon=3.0, users=100_000, k=10, set_size=23, repeats=20, hash_bits=1, combine="paper"
        )
        assert published["ndcg"] == pytest.approx(expected, abs=0.07)
