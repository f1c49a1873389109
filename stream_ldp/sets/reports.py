"""Reports of item sets to one round, with what the users' secrets determine where its phase memoises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.sets.permanent import permanent_words
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.rounds import Round


def reports(
    collection: ItemCollection,
    table: ItemSets,
    *,
    asked: Round,
    secrets: Sequence[bytes] | None,
    memoises: bool,
    time_ms: int,  # noqa: ARG001  other kinds need it
    entropy: Entropy,
) -> NDArray[np.uint8]:
    """Perturb the sets of users whom a round asks; see `stream_ldp.pipeline.kind.Reports`."""
    kept = secrets if memoises and collection.method.phases[asked.phase - 1].memoised is not None else None
    permanent = None if kept is None else [permanent_words(collection, key=secret) for secret in kept]
    return respond(collection.method, asked.inquiry, table, entropy=entropy, permanent=permanent)
