"""What is true of users whose keys are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stream_ldp.pairs.collection import PairsCollection
    from stream_ldp.pipeline.cells import Totals
    from stream_ldp.questions.questions import Table


def totals(collection: PairsCollection, table: Table) -> Totals:
    """Count the users who hold each key; see `Kind.totals`. A mean is no sum over users.

    table: users, one a row.
    """
    counts = [float((~np.isnan(table[str(place)])).sum()) for place in range(len(collection.attributes))]
    return {
        ("pairs", ("frequency", (key.name,))): count
        for key, count in zip(collection.attributes, counts, strict=True)
        if count
    }
