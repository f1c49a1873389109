"""What is true of users whose places are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.places.questions import PLACE

if TYPE_CHECKING:
    from stream_ldp.pipeline.cells import Totals
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.questions.questions import Table


def totals(collection: PlaceCollection, table: Table) -> Totals:
    """Count the users at each place; see `Kind.totals`.

    table: users, one a row.
    """
    places = collection.tree.places
    counts = np.bincount(table[PLACE], minlength=len(places)).astype(np.float64)
    return {("places", ("", (place,))): count for place, count in zip(places, counts.tolist(), strict=True)}
