"""A whole epoch in one call, clients and server together, with the results that the service would publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import random_words
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.phases import Method, RankingEstimate


def run_epoch(method: Method, sets: ItemSets, *, entropy: Entropy) -> RankingEstimate:
    """Estimate the ranking after all phases; every user reports to each phase that asks them.

    sets: items below the method's domain.
    """
    words = random_words(len(sets), entropy=entropy)
    estimate: RankingEstimate | None = None
    inquiry = method.first()
    while True:
        phase = method.phases[inquiry.phase - 1]
        users = sets.take(np.flatnonzero(phase.asks(words)))
        rows = respond(method, inquiry, users, entropy=entropy)
        sums = method.oracle(inquiry).sums(rows)
        estimate, following = method.solve(inquiry, sums=sums, reports=len(rows), before=estimate)
        if following is None:
            return estimate
        inquiry = following
