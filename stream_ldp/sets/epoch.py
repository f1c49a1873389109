"""A whole epoch at once, clients and server in one place: what the service computes phase by phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import random_words
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.phases import Method, RankingEstimate

__all__ = ["run_epoch"]


def run_epoch(method: Method, sets: ItemSets, *, entropy: Entropy) -> RankingEstimate:
    """The estimate after all phases, every user of the sets reporting to each phase that asks them.

    sets: items below the method's domain.
    """
    words = random_words(len(sets), entropy=entropy)
    estimate: RankingEstimate | None = None
    inquiry = method.first()
    while True:
        phase = method.phases[inquiry.phase - 1]
        asked = sets.take(np.flatnonzero(phase.asks(words)))
        rows = respond(method, inquiry, asked, entropy=entropy)
        sums = method.oracle(inquiry).sums(rows)
        estimate, following = method.solve(inquiry, sums=sums, reports=len(rows), before=estimate)
        if following is None:
            return estimate
        inquiry = following
