"""Reports of records: their bits, the pseudonym before them where a collection links them, and what they cost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.ledger.reports import AttributeReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def charges(
    collection: JointCollection,
    table: NDArray[np.integer] | Iterable[Sequence[int]],
    *,
    secret: bytes,
    tag_key: bytes | None,
) -> tuple[AttributeReport, ...]:
    """Describe what reports of these records of one user show of their attributes.

    table: value indices as `JointCollection.encode` gives them, shape (n, attributes).
    secret: the user's, which determines the hashes of values.
    tag_key: 32 bytes that only the user has; None where the permanent responses are drawn afresh.
    """
    if tag_key is not None and not collection.mechanism.keyed_by_value:
        held = collection.table(list(table))
        table = collection.mechanism.shown(held, collection.words.words_of([secret] * len(held), held))
    # Without permanent noise, every report has a pseudonym of its own.
    linked = collection.linked_ms is not None and tag_key is not None
    return tuple(
        AttributeReport(
            collection=collection.name,
            attributes=collection.names,
            responses=collection.responses,
            mechanisms=collection.costs,
            tags=None if tag_key is None else tuple(collection.tags(tag_key, record)),
            times=times,
            linked=linked,
        )
        for record, times in Counter(tuple(map(int, record)) for record in table).items()
    )
