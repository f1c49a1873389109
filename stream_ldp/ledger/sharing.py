"""The most that reports of several permanent responses may have cost: which was shown how often is not known."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from stream_ldp.mechanisms import ReportCost
from stream_ldp.mechanisms.privacy_loss import round_up

#: Reports of one response that are distinguished; one that was shown more often is charged its lifetime cost. So a
#: charge takes a millisecond for a few values. A loss that takes more reports to grow is that of reports that cost
#: nearly nothing.
MAX_TIMES = 64


@lru_cache(maxsize=256)
def worst_sharing(cost: ReportCost, *, responses: int, reports: int) -> float:
    """Return the largest loss of reports that show each of some responses at least once, in nats; never rounded down.

    It is the largest sum of the losses of t_1, t_2, ... reports over all t_1 + t_2 + ... = reports, each at least 1,
    by dynamic programming over the responses. Where the loss of t reports is concave in t, the even sharing is the
    worst; where it is convex at first, as that of a permanent response behind much fresh noise is, an uneven one may
    be.

    responses, reports: at least one report of each response.
    """
    # More reports never cost less: those beyond are shown by responses that are charged their lifetime cost already.
    most = min(reports - responses + 1, MAX_TIMES + 1)
    losses = [cost.responses_loss(responses=1, reports=times) for times in range(1, most + 1)]
    if most > MAX_TIMES:
        losses[-1] = cost.responses_loss(responses=1, reports=math.inf)
    spare = min(reports - responses, responses * (most - 1))
    best = np.zeros(spare + 1)
    for _ in range(responses):
        more = np.full(spare + 1, -np.inf)
        for extra, loss in enumerate(losses[: spare + 1]):
            np.maximum(more[extra:], best[: spare + 1 - extra] + loss, out=more[extra:])
        best = np.maximum.accumulate(more)
    # Each addition of doubles may round down, by at most half a unit in the last place of the sum.
    found = float(best[-1])
    return round_up(Fraction(found) + responses * Fraction(math.ulp(found)))
