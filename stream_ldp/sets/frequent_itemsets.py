"""The itemsets that most users hold, counted from the users' sets themselves."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.sets.item_sets import ItemSets

#: Items that are tried first: a table of them and the users is small.
_FIRST_ITEMS = 64


def frequent_itemsets(
    sets: ItemSets, *, k: int, sizes: Sequence[int], domain: int
) -> list[tuple[tuple[int, ...], float]]:
    """Find the k itemsets that most users hold, most frequent first, with the share of the users who hold each.

    No itemset is more frequent than one with an item less, so that only those above the k-th best so far go on
    (Agrawal and Srikant, 1994). Those that nobody holds are left out; of equal ones, the first comes first.

    sizes: numbers of items of an itemset.
    domain: a number above every item.
    """
    frequency = sets.frequencies(domain)
    order = np.argsort(-frequency, kind="stable")
    order = order[frequency[order] > 0.0]
    items = min(_FIRST_ITEMS, len(order))
    while True:
        best = _best(sets, np.sort(order[:items]), k=k, sizes=sizes, domain=domain)
        least = best[-1][1] if len(best) == k else 0.0
        # Of the others, each is in no itemset that is as frequent.
        needed = int(np.count_nonzero(frequency[order] >= least))
        if needed <= items:
            return best
        items = min(max(2 * items, 1), len(order))


def _best(
    sets: ItemSets, items: NDArray[np.int64], *, k: int, sizes: Sequence[int], domain: int
) -> list[tuple[tuple[int, ...], float]]:
    """Find the k most frequent itemsets of these items, given in ascending order."""
    among = sets.restricted(items, domain=domain)
    holds = np.zeros((len(sets), len(items)), dtype=np.bool_)
    holds[np.repeat(np.arange(len(sets)), among.sizes), among.items] = True
    found: list[tuple[int, tuple[int, ...]]] = []

    def extend(prefix: tuple[int, ...], users: NDArray[np.bool_]) -> None:
        following = prefix[-1] + 1 if prefix else 0
        counts = users[:, following:].sum(axis=0)
        for place in (following + np.argsort(-counts, kind="stable")).tolist():
            held, longer = int(counts[place - following]), (*prefix, place)
            # Equal counts are ordered by the items, first ones first.
            if not held or (len(found) == k and held < found[0][0]):
                return
            if len(longer) in sizes:
                # Above every place, so that of two that begin alike the shorter comes first.
                entry = (held, (*(-each for each in longer), len(items)))
                (heapq.heappush if len(found) < k else heapq.heappushpop)(found, entry)
            if len(longer) < max(sizes):
                extend(longer, users[users[:, place]])

    extend((), holds)
    return [
        (tuple(int(items[-place]) for place in places[:-1]), held / len(sets))
        for held, places in sorted(found, reverse=True)
    ]
