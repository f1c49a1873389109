"""What is true of users whose strings are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.strings.attribute import END

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.pipeline.cells import Totals
    from stream_ldp.strings.collection import StringCollection


def totals(collection: StringCollection, table: NDArray[np.integer]) -> Totals:
    """Count the users with each string that anybody has, but for the empty one; see `Kind.totals`.

    table: symbols of the users' strings, shape (users, length).
    """
    strings, counts = np.unique(table, axis=0, return_counts=True)
    decode = collection.string.decode
    return {
        ("strings", ("", (decode(string),))): float(count)
        for string, count in zip(strings, counts.tolist(), strict=True)
        if string[0] != END
    }
