"""What tests of heavy hitters share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.sets.phases import Inquiry, Method

__all__ = ["answers_of"]


def answers_of(
    method: Method, inquiry: Inquiry, sets: Iterable[Iterable[int]], *, seed: int = 0
) -> NDArray[np.int64]:
    """The counted answers of users with these sets, who are all asked."""
    rows = respond(method, inquiry, ItemSets.of(sets), entropy=SeededEntropy(seed))
    return method.oracle(inquiry).sums(rows)
