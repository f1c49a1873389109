"""Measures are of what is published against the users drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.evaluation import EVALUATION, metrics, run_epoch
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
