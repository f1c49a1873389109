"""Measures are of what is published against the users drawn."""

import itertools
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.evaluation import (
    EVALUATION,
    coverage,
    f1_score,
    frequent_itemsets,
    mean_squared_error,
    metrics,
    ndcg,
    relative_error,
    run_epoch,
    top,
)
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods import METHODS
from stream_ldp.sets.phases import RankingEstimate
from tests.evaluation.runs import evaluated
from tests.sets.examples import collection_of
from tests.sets.methods.examples import build, population

TRUTH = np.array([0.5, 0.1, 0.8, 0.0])


def test_measures_are_of_the_published_items_and_frequencies() -> None:
    estimate = RankingEstimate(
        items=np.array([2, 1, 3]), frequency=np.array([1.4, 0.3, -0.2]), standard_error=np.full(3, 0.1)
    )
    found = metrics(estimate, TRUTH, k=2)
    # Item 2 is published with 1.0 at most; item 0 is no candidate, so it is not published and its estimate is 0.
    assert (found["ndcg"], found["f1"]) == (0.5, 0.5)
    assert found["re"] == pytest.approx((0.2 / 0.8 + 1.0) / 2)
    assert found["mse"] == pytest.approx((0.2**2 + 0.5**2) / 2)


def test_an_epoch_is_measured_with_all_users_and_the_server() -> None:
    collection = ItemCollection.parse(
        "{collection: a, mechanism: {kind: svim, epsilon: 1, k: 1}, items: {size: 3}, window: {size: 1m}}"
    )
    (score,) = evaluated(collection, ItemSets.of([[0], [1, 2]]), users=5, repeats=2).values()
    assert [name for name in score.metrics if not name.endswith("_sd")] == ["ndcg", "re", "f1", "mse", "coverage"]
    assert score.seconds == 1.0


class Sets:
    columns = ()
    item_sets = (("10", "9"), ("9",), ("9", "8", "10", "7"), *[("9",)] * 9)

    def values(self, name: str) -> list[str]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("mechanism", "size"),
    [
        ({"kind": "gfim", "set_size": "", "k": "1", "epsilon": "1"}, 2),  # what nine of ten do not exceed
        ({"kind": "svim", "set_size": "", "k": "1", "epsilon": "1"}, 1),  # what tells the most of item 9
        ({"kind": "svim", "set_size": "", "k": "x"}, 2),  # the collection says that k is no number
        ({"kind": "svim", "set_size": "3"}, "3"),
        ({"kind": "svim"}, None),
    ],
)
def test_the_items_and_an_empty_set_size_are_those_of_the_table(mechanism: dict[str, Any], size: Any) -> None:
    document = {"mechanism": mechanism}
    EVALUATION.complete(document, Sets())
    assert document["items"] == {"names": ["7", "8", "9", "10"]}
    assert mechanism.get("set_size") == size


def test_itemsets_are_measured_beside_the_items() -> None:
    """Seeded; nearly noiseless, with users enough that both itemsets are found."""
    collection = ItemCollection.parse(
        "{collection: a, mechanism: {kind: svim, epsilon: 20, k: 3}, items: {size: 4}, window: {size: 1m}, "
        "itemsets: {k: 2}}"
    )
    scores = evaluated(collection, ItemSets.of([[0, 1], [0, 1], [1, 2]]), users=3_000, repeats=2)
    assert list(scores) == ["heavy-hitters", "itemsets"]
    found = scores["itemsets"].metrics
    assert [name for name in found if not name.endswith("_sd")] == ["f1", "ncr", "mae", "coverage"]
    assert (found["f1"], found["ncr"]) == (1.0, 1.0)
    assert float(found["mae"]) < 0.05


@pytest.mark.parametrize(("stated", "mean", "most"), [(4, 2.3, 15), (24, 22.0, 25), (30, 30.0, 30)])
def test_assumed_sets_are_as_large_as_is_stated(stated: int, mean: float, most: int) -> None:
    assert EVALUATION.assumed is not None
    assumed = EVALUATION.assumed(collection_of(options=f"set_size: {stated}", size=30))
    assert assumed is not None
    sets = assumed.population
    assert float(sets.sizes.mean()) == pytest.approx(mean, rel=0.05)
    assert int(sets.sizes.max()) <= most
    assert sets.frequencies(30).sum() == pytest.approx(sets.sizes.mean())


ALL = pytest.mark.parametrize("kind", list(METHODS))


@ALL
def test_the_same_seed_gives_the_same_epoch(kind: str) -> None:
    sets = population(2_000)
    one, same, other = (run_epoch(build(kind), sets, entropy=SeededEntropy(seed)) for seed in (1, 1, 2))
    assert one.items.tolist() == same.items.tolist()
    assert one.frequency.tolist() == same.frequency.tolist()
    assert one.frequency.tolist() != other.frequency.tolist()


SETS = st.lists(st.lists(st.integers(0, 6), max_size=6, unique=True), max_size=12)


@given(SETS, st.integers(1, 12), st.sets(st.integers(2, 4), min_size=1))
def test_the_best_are_those_of_a_count_of_all(held: list[list[int]], k: int, sizes: set[int]) -> None:
    counted = {
        itemset: sum(set(itemset) <= set(each) for each in held)
        for size in sizes
        for itemset in itertools.combinations(range(7), size)
    }
    expected = sorted(
        ((count, itemset) for itemset, count in counted.items() if count), key=lambda each: (-each[0], each[1])
    )
    found = frequent_itemsets(ItemSets.of(held), k=k, sizes=tuple(sizes), domain=7)
    assert found == [(itemset, count / len(held)) for count, itemset in expected[:k]]


def test_itemsets_of_rarer_items_than_are_tried_first_are_found() -> None:
    """Of 100 items, each held alone by many, the two least frequent are the only ones that are held together."""
    generator = np.random.default_rng(1)
    held = [[int(item)] for item in generator.permutation(np.repeat(np.arange(98), 20))] + [[98, 99]] * 5
    assert frequent_itemsets(ItemSets.of(held), k=1, sizes=(2,), domain=100) == [((98, 99), 5 / len(held))]


#: Of 8 items; the true top 3 are items 2, 0 and 5.
POPULAR = np.array([0.5, 0.1, 0.8, 0.0, 0.2, 0.4, 0.1, 0.3])


def _published(*items: int) -> NDArray[np.int64]:
    return np.array(items, dtype=np.int64)


def test_coverage_is_of_the_published_items_alone() -> None:
    # Off by 0.1, 0.2 and 0.2; 1.96 errors are 0.102.
    estimate = RankingEstimate(
        items=np.array([2, 0, 7, 1]), frequency=np.array([0.7, 0.7, 0.5, 9.0]), standard_error=np.full(4, 0.052)
    )
    assert coverage(estimate, POPULAR, k=3) == pytest.approx(1 / 3)
    assert coverage(estimate, POPULAR, k=1) == 1.0


def test_of_equally_frequent_items_the_lower_one_comes_first() -> None:
    assert top(np.array([0.1, 0.3, 0.3, 0.1]), 3).tolist() == [1, 2, 0]


def test_ndcg_is_1_for_the_perfect_order_and_0_without_any_heavy_hitter() -> None:
    assert ndcg(_published(2, 0, 5), POPULAR, k=3) == 1.0
    assert ndcg(_published(1, 3, 4), POPULAR, k=3) == 0.0


def test_gain_falls_with_rank_distance_and_is_discounted_by_the_true_rank() -> None:
    # Item 2 is published third instead of first, item 0 second as it should, item 5 first instead of third.
    found = log2(8 - 2) + log2(8) / log2(2) + log2(8 - 2) / log2(3)
    ideal = log2(8) + log2(8) / log2(2) + log2(8) / log2(3)
    assert ndcg(_published(5, 0, 2), POPULAR, k=3) == pytest.approx(found / ideal)


def test_a_heavy_hitter_that_is_not_published_gains_nothing() -> None:
    # Item 0, of rank 2, is not there; the others are where they belong.
    ideal = log2(8) + log2(8) / log2(2) + log2(8) / log2(3)
    found = ideal - log2(8) / log2(2)
    assert ndcg(_published(2, 1, 5), POPULAR, k=3) == pytest.approx(found / ideal)


def test_the_relative_error_is_the_median_over_the_true_heavy_hitters() -> None:
    estimate = POPULAR.copy()
    estimate[[2, 0, 5]] = [0.8 * 1.5, 0.5 * 0.9, 0.4 * 1.2]
    estimate[7] = 99.0  # no heavy hitter
    assert relative_error(estimate, POPULAR, k=3) == pytest.approx(0.2)
    assert relative_error(estimate, POPULAR, k=2) == pytest.approx((0.5 + 0.1) / 2)


def test_items_that_nobody_holds_have_no_relative_error() -> None:
    truth = np.array([0.5, 0.0, 0.0])
    assert relative_error(np.array([0.25, 0.9, 0.9]), truth, k=3) == 0.5
    assert relative_error(np.ones(3), np.zeros(3), k=3) == 0.0


def test_f1_counts_both_missed_and_wrong_items() -> None:
    assert f1_score(_published(2, 0, 1), POPULAR, k=3) == pytest.approx(2 / 3)
    # Two of two are right, two of three are found: 2 * 1 * (2 / 3) / (1 + 2 / 3).
    assert f1_score(_published(2, 0), POPULAR, k=3) == pytest.approx(0.8)


def test_the_mean_squared_error_is_over_the_true_heavy_hitters_alone() -> None:
    estimate = POPULAR.copy()
    estimate[[2, 0]] += [0.1, -0.3]
    estimate[3] = 1.0  # no heavy hitter
    assert mean_squared_error(estimate, POPULAR, k=3) == pytest.approx((0.01 + 0.09) / 3)
