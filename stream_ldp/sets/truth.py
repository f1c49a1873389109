"""What is true of users whose item sets are known."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.sets.answer import itemset_name
from stream_ldp.sets.phases import Target, candidates_of
from stream_ldp.sets.size_classes import class_names, classes_of

if TYPE_CHECKING:
    from stream_ldp.pipeline.cells import CellKey, Totals
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets

#: Items whose itemsets are counted: they make 10,000 pairs and triples.
_POPULAR = 40


def totals(collection: ItemCollection, sets: ItemSets) -> Totals:
    """Count the users who hold each item that anybody holds, and each of the itemsets; see `Kind.totals`.

    Of itemsets, those of the items that most of these users hold are counted.
    """
    counts, item_name = np.bincount(sets.items, minlength=collection.items.count), collection.items.name
    found: dict[tuple[str, CellKey], float] = {
        ("items", ("", (item_name(item),))): float(counts[item]) for item in np.flatnonzero(counts).tolist()
    }
    if collection.method.phases[0].asked is Target.SIZE:
        names = class_names(collection.items.count)
        classes = np.bincount(classes_of(sets.sizes, count=len(names)), minlength=len(names))
        found |= {("sizes", ("", (name,))): float(total) for name, total in zip(names, classes, strict=True)}
    if collection.itemsets is None or not len(sets.items):
        return found
    popular = np.sort(np.argsort(-counts, kind="stable")[: min(_POPULAR, np.count_nonzero(counts))]).tolist()
    itemsets = [each for size in collection.itemsets.sizes for each in itertools.combinations(popular, size)]
    if itemsets:
        held = sets.restricted(candidates_of(itemsets), domain=collection.items.count)
        totals = np.bincount(held.items, minlength=len(itemsets))
        for place in np.flatnonzero(totals).tolist():
            itemset = itemset_name(map(item_name, itemsets[place]))
            found["itemsets", ("", (itemset,))] = float(totals[place])
    return found
