"""Reports of places: the region and the epsilon as the user chooses them, and within it the place with noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.questions.permanent import permanent_answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.questions.questions import Table


def reports(
    collection: PlaceCollection,
    table: Table,
    *,
    secrets: Sequence[bytes] | None,
    memoises: bool,
    time_ms: int,  # noqa: ARG001  for reports that are linked
    entropy: Entropy,
) -> NDArray[np.uint8]:
    """Perturb places; see `stream_ldp.pipeline.kind.Reports`."""
    numbers = collection.chosen(table)
    if secrets is not None and memoises:
        return permanent_answers(collection, table, secrets=secrets, numbers=numbers)
    return collection.questions.perturb(numbers, table, entropy=entropy)
