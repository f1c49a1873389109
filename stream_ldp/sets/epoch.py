"""A whole epoch in one call, clients and server together, with the results that the service would publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import random_words
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.phases import Method, Phase, RankingEstimate


def run_epoch(method: Method, sets: ItemSets, *, entropy: Entropy) -> RankingEstimate:
    """Estimate the ranking after all phases; see `run_phases`."""
    *_, (_, last) = run_phases(method, sets, entropy=entropy)
    return last


def run_phases(method: Method, sets: ItemSets, *, entropy: Entropy) -> Iterator[tuple[Phase, RankingEstimate]]:
    """Iterate over the phases and the estimate after each; every user reports to each phase that asks them.

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
        yield phase, estimate
        if following is None:
            return
        inquiry = following
