"""The benchmark of itemsets: its tables are what they say, and its baselines differ from what is shipped."""

import numpy as np
import pytest

from stream_ldp.sets.evaluation import frequent_itemsets
from tests.benchmarks.itemsets import SIZES, baskets, measured


def test_items_of_generated_baskets_belong_together() -> None:
    sets = baskets(2_000, items=1_000, patterns=50)
    frequency = sets.frequencies(1_000)
    lifts = [
        share / np.prod(frequency[list(itemset)])
        for itemset, share in frequent_itemsets(sets, k=20, sizes=SIZES, domain=1_000)
    ]
    assert np.median(lifts) > 2


@pytest.mark.long
def test_itemsets_are_measured_for_every_method() -> None:
    """Seeded. At epsilon 4 and 20,000 users, counting beats guesses, which take all users for the items."""
    found = {
        (name, epsilon): mean
        for name, epsilon, mean in measured(baskets(20_000, items=60, patterns=8), k=5, repeats=1)
    }
    assert {name for name, _ in found} == {
        "SVSM as published",
        "guesses alone",
        "itemsets, svim",
        "itemsets, gfim-users",
    }
    assert found["itemsets, svim", 4.0]["mae"] < found["guesses alone", 4.0]["mae"]
