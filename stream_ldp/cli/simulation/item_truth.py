"""This module holds the truth of a simulation of item sets, to compare rankings with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from stream_ldp.cli.simulation.truth import TruthError

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.sets.answer import Ranking
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets

__all__ = ["ItemTruth"]


class ItemTruth(BaseModel):
    """The truth of a simulation of item sets.

    frequency: share of the users who hold each item that anybody holds, the most frequent first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    collection: str
    fingerprint: str
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

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` has written.

        Raises:
            TruthError: it cannot be read, or holds something else.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise TruthError(f"{path}: cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise TruthError(
                f"{path}: not the truth of a simulation of item sets, as `simulate --truth` writes it"
            ) from error

    def save(self, path: Path) -> None:
        """Write the file so that a reader sees either the old or the new one, and nothing in between."""
        draft = path.with_name(f".{path.name}.draft")
        draft.write_text(self.model_dump_json(), encoding="utf-8")
        os.replace(draft, path)

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
