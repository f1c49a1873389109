"""This module holds the truth of a simulation of item sets, to compare rankings with."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from stream_ldp.cli.simulation.truth_file import TruthFile

if TYPE_CHECKING:
    from stream_ldp.sets.answer import Ranking
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets

__all__ = ["ItemTruth"]


class ItemTruth(TruthFile):
    """The truth of a simulation of item sets.

    frequency: share of the users who hold each item that anybody holds, the most frequent first.
    """

    origin: ClassVar[str] = "a simulation of item sets"

    frequency: dict[str, float]

    @classmethod
    def of(cls, collection: ItemCollection, sets: ItemSets) -> Self:
        """Compute the truth of these users."""
        frequencies = sets.frequencies(collection.items.count)
        order = np.argsort(-frequencies, kind="stable")[: np.count_nonzero(frequencies)]
        return cls(
            collection=collection.name,
            fingerprint=collection.fingerprint.hex(),
            frequency={collection.items.name(item): float(frequencies[item]) for item in order.tolist()},
        )

    def part_of(self, item: str) -> float:
        """Return the share of the users who hold an item."""
        return self.frequency.get(item, 0.0)

    def found(self, ranking: Ranking) -> int:
        """Count the items of a ranking that are among as many truly most frequent ones."""
        least = min(self.top(len(ranking.items)).values(), default=0.0)
        return sum(self.part_of(each.item) >= least > 0.0 for each in ranking.items)

    def distance(self, ranking: Ranking) -> float:
        """Compute the mean absolute difference of a ranking's frequencies from the true ones."""
        return float(np.mean([abs(each.frequency - self.part_of(each.item)) for each in ranking.items]))

    def top(self, count: int) -> dict[str, float]:
        """Return the most frequent items with their frequencies; as many as there are, if there are fewer."""
        return dict(list(self.frequency.items())[:count])
