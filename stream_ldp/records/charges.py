"""What reports of records cost: of each attribute one permanent response, as the ledger charges it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from stream_ldp.ledger.reports import TAG_WORDS, AttributeReport
from stream_ldp.mechanisms import SECRET_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.records.collection import JointCollection

_PUBLIC_KEY = bytes(SECRET_BYTES)


def charges(
    collection: JointCollection,
    table: NDArray[np.integer] | Iterable[Sequence[int]],
    *,
    secret: bytes,
    tag_key: bytes | None,
) -> tuple[AttributeReport, ...]:
    """Describe what reports of these records of one user show of each attribute.

    table: value indices as `JointCollection.encode` gives them, shape (n, attributes).
    secret: the user's, which determines the hashes of values.
    tag_key: 32 bytes that only the user has; None where the permanent responses are drawn afresh.
    """
    words = collection.permanent_words(least=TAG_WORDS, by_value=True)
    counts = [max(TAG_WORDS, count) for count in collection.mechanism.words]
    starts = [sum(counts[:position]) for position in range(len(counts))]

    def tags(key: bytes, record: Sequence[int]) -> list[str]:
        # As `tag_of`: a tag is made as a permanent response is, with another key.
        made = words.words(key, record)
        return [made[start : start + TAG_WORDS].tobytes().hex() for start in starts]

    responses = tags(_PUBLIC_KEY, [0] * len(starts))
    if tag_key is not None and not collection.mechanism.keyed_by_value:
        held = collection.table(list(table))
        table = collection.mechanism.shown(held, collection.words.words_of([secret] * len(held), held))
    return tuple(
        AttributeReport(
            collection=collection.name,
            attribute=attribute.name,
            responses=response,
            mechanism=cost,
            tag=tag,
            times=times,
            # Without permanent noise, every report has a pseudonym of its own.
            linked=collection.linked_ms is not None and tag_key is not None,
        )
        for record, times in Counter(tuple(map(int, record)) for record in table).items()
        for attribute, response, cost, tag in zip(
            collection.attributes,
            responses,
            collection.mechanism_spec.costs(sizes=collection.mechanism.sizes),
            [None] * len(starts) if tag_key is None else tags(tag_key, record),
            strict=True,
        )
    )
