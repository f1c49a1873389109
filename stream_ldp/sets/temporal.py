"""What earlier epochs tell of the items of an epoch's result.

A result leaves its candidates with their frequencies and errors to the next epoch, whose rankings pass it on until
its own last phase. An item that was no candidate then has no past. Users answer every epoch with new noise, so those
who return say something new.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.pipeline.local_level import Level, Noise, follow, follow_known
from stream_ldp.sets.answer import EarlierEpochs, Learnt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.sets.phases import RankingEstimate

__all__ = ["Result", "learn"]

#: Share of a frequency's variance among users below which a variance of its noise is taken for it: without any noise,
#: the likelihood of a drift would have no end.
_LEAST = 1e-12


class Result(NamedTuple):
    """The result of an epoch: the estimate, what it has from earlier epochs, and what it leaves to the next one."""

    estimate: RankingEstimate
    learnt: Learnt
    left: EarlierEpochs


def learn(estimate: RankingEstimate, earlier: EarlierEpochs | None, *, epoch: int, reports: int) -> Result:
    """Estimate the candidates of an epoch's last phase with the epochs before.

    estimate: that of the epoch alone.
    earlier: what the last epoch with a result has left; None if there was none.
    reports: number of reports of the last phase, at least 1.
    """
    items, alone = estimate.items, estimate.frequency
    past, places = _past(items, earlier)
    share = alone.copy()
    if past is not None:
        share[places >= 0] = past.mean[places[places >= 0]]
    share = np.clip(share, 0.0, 1.0)
    scale = np.maximum(share * (1.0 - share), 1.0 / reports)
    noise = Noise(
        sampling=np.zeros(len(items)),
        fresh=np.maximum(estimate.standard_error**2, _LEAST * scale),
        permanent=np.zeros(len(items)),
    )
    if past is None or earlier is None:
        after = follow(None, alone, noise, scale=scale, reports=float(reports))
    else:
        elapsed = epoch - earlier.epoch
        after = follow_known(past, places, alone, noise, scale=scale, reports=float(reports), elapsed=elapsed)
    frequency, error, left = after.mean, after.standard_error, after.level.variances
    order = np.argsort(-frequency, kind="stable")
    frequency, error, left = frequency[order], error[order], left[order]
    return Result(
        estimate=replace(estimate, items=items[order], frequency=frequency, standard_error=error),
        learnt=Learnt(
            alone=tuple(alone[order].tolist()),
            weight=after.reports,
            drift=after.drift,
            jumped=after.jumped,
        ),
        left=EarlierEpochs(
            epoch=epoch,
            items=tuple(items[order].tolist()),
            frequency=tuple(frequency.tolist()),
            variance=tuple(left.tolist()),
            evidence=tuple(after.level.evidence.tolist()),
        ),
    )


def _past(items: NDArray[np.int64], earlier: EarlierEpochs | None) -> tuple[Level | None, NDArray[np.intp]]:
    """Return what earlier epochs have left, and the place of each item in it, -1 for one that was no candidate."""
    if earlier is None:
        return None, np.full(len(items), -1)
    place = {item: number for number, item in enumerate(earlier.items)}
    level = Level(
        mean=np.array(earlier.frequency, dtype=np.float64),
        variances=np.array(earlier.variance, dtype=np.float64),
        permanent=np.ones(len(earlier.items)),
        evidence=np.array(earlier.evidence),
    )
    return level, np.array([place.get(item, -1) for item in items.tolist()], dtype=np.intp)
