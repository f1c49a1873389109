"""Reports of records: their bits, and the pseudonym before them where a collection links them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.records.collection import JointCollection


def reports(
    collection: JointCollection,
    table: NDArray[np.integer],
    *,
    secrets: Sequence[bytes] | None,
    memoises: bool,
    time_ms: int,
    entropy: Entropy,
) -> NDArray[np.uint8]:
    """Perturb records; see `stream_ldp.pipeline.kind.Reports`."""
    # Reports without permanent noise in common have nothing to be linked for.
    kept = secrets if memoises else None
    names = collection.pseudonyms(len(table), secrets=kept, time_ms=time_ms, entropy=entropy)
    words = None if kept is None else collection.words.words_of(kept, table)
    return np.concatenate(
        [names, collection.mechanism.perturb(table, entropy=entropy, permanent_words=words)], axis=1
    )
