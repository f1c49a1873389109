"""What is true of users whose values are known, attribute by attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.pipeline.cells import CellKey, Totals
    from stream_ldp.questions.questions import Table


def totals(collection: SampledCollection, table: Table) -> Totals:
    """Count the users with each value or candidate, and sum their numbers; see `Kind.totals`.

    table: users, one a row.
    """
    found: dict[tuple[str, CellKey], float] = {}
    for place, attribute in enumerate(collection.attributes):
        column = table[str(place)]
        if attribute.range is not None:
            numbers = {"mean": float(column.sum())}
        elif attribute.candidates is not None:
            numbers = {candidate: float((column == candidate).sum()) for candidate in attribute.candidates}
        else:
            counts = np.bincount(column, minlength=len(attribute.labels)).astype(np.float64)
            numbers = dict(zip(attribute.labels, counts.tolist(), strict=True))
        found |= {("marginals", (attribute.name, (name,))): number for name, number in numbers.items()}
    return found
