"""A whole epoch at once, clients and server in one place: what the service computes phase by phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import random_words
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.phases import Method, Standing

__all__ = ["run_epoch"]


def run_epoch(method: Method, sets: ItemSets, *, entropy: Entropy) -> Standing:
    """What is known after all phases, every user of the sets answering each phase that asks him.

    sets: items below the method's domain.
    """
    groups = random_words(len(sets), entropy=entropy)
    standing: Standing | None = None
    inquiry = method.first()
    while True:
        phase = method.phases[inquiry.phase - 1]
        asked = sets.take(np.flatnonzero(phase.asks(groups)))
        rows = respond(method, inquiry, asked, entropy=entropy)
        sums = method.oracle(inquiry).sums(rows)
        standing, following = method.solve(inquiry, sums=sums, reports=len(rows), before=standing)
        if following is None:
            return standing
        inquiry = following
