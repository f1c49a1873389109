"""Estimates of the items that were chosen as the best of many, without the luck by which they were chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.filtering.shrinkage import DOUBT, FrequencyPrior

if TYPE_CHECKING:
    from stream_ldp.sets.phases import RankingEstimate


def drawn_together(chosen: RankingEstimate, every: RankingEstimate) -> RankingEstimate:
    """Return estimates of chosen items, shrunk towards what all items suggest; see `FrequencyPrior`.

    The errors are those of the estimates, and grow: the later phase, whose reports played no part in the choice, then
    counts for more.

    chosen: the estimates of the best items.
    every: those of all the items from which they were chosen, with the same reports.
    """
    if not np.isfinite(every.standard_error).all() or not every.standard_error.all():
        return chosen
    known = FrequencyPrior.learn(every.frequency, every.standard_error)
    drawn = known.drawn(chosen.frequency, chosen.standard_error)
    error = np.hypot(chosen.standard_error, DOUBT * drawn.moved)
    return replace(chosen, frequency=drawn.mean, standard_error=error)
