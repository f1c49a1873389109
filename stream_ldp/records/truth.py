"""What is true of users whose records are known, cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from stream_ldp.pipeline.cells import Totals


def totals(collection: Any, table: Any) -> Totals:
    """Count the users in each cell of each estimate; see `Kind.totals`.

    collection: of joint distributions, whatever its users report.
    table: users, one a row, as the collection's `table` makes them.
    """
    found = {}
    for estimate in collection.estimates:
        values = [attribute.labels for attribute in collection.attributes_of(estimate)]
        cells, counts = np.unique(np.stack(collection.columns_of(table, estimate)), axis=1, return_counts=True)
        for cell, count in zip(cells.T.tolist(), counts.tolist(), strict=True):
            names = tuple(labels[value] for labels, value in zip(values, cell, strict=True))
            found[estimate.name, ("", names)] = float(count)
    return found
