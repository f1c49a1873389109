"""The most frequent itemsets are those that a count of every itemset finds."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.sets.frequent_itemsets import frequent_itemsets
from stream_ldp.sets.item_sets import ItemSets

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
