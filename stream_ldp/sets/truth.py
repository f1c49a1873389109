"""What is true of users whose item sets are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stream_ldp.pipeline.cells import Totals
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets


def totals(collection: ItemCollection, sets: ItemSets) -> Totals:
    """Count the users who hold each item that anybody holds; see `Kind.totals`."""
    counts = np.bincount(sets.items, minlength=collection.items.count)
    return {
        ("items", ("", (collection.items.name(item),))): float(counts[item])
        for item in np.flatnonzero(counts).tolist()
    }
