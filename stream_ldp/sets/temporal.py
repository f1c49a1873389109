"""What earlier epochs tell of the items of an epoch's result.

A result leaves its candidates with their frequencies and errors to the next epoch, whose rankings pass it on until
its own last phase. An item that was no candidate then has no past. Users answer every epoch with new noise, so those
who return say something new.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.pipeline.local_level import Level, Noise, follow
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
    known, places = _known(items, earlier)
    past_mean = alone.copy()
    level = None
    if earlier is not None and known.any():
        level = Level(
            mean=np.array(earlier.frequency)[places],
            variances=np.array(earlier.variance)[places],
            permanent=np.ones(len(places)),
            evidence=np.array(earlier.evidence),
        )
        past_mean[known] = level.mean
    share = np.clip(past_mean, 0.0, 1.0)
    scale = np.maximum(share * (1.0 - share), 1.0 / reports)
    variance = np.maximum(estimate.standard_error**2, _LEAST * scale)
    after = follow(
        level,
        alone[known],
        Noise(sampling=np.zeros(len(places)), fresh=variance[known], permanent=np.zeros(len(places))),
        scale=scale[known],
        reports=float(reports),
        elapsed=1 if earlier is None else epoch - earlier.epoch,
    )
    frequency, error, left = alone.copy(), estimate.standard_error.copy(), variance.copy()
    frequency[known], error[known], left[known] = after.mean, after.standard_error, after.level.variances
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


def _known(items: NDArray[np.int64], earlier: EarlierEpochs | None) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Find which items have a past, bool of the items' shape, and the places of these in it."""
    if earlier is None:
        return np.zeros(len(items), dtype=np.bool_), np.zeros(0, dtype=np.intp)
    place = {item: number for number, item in enumerate(earlier.items)}
    known = np.array([item in place for item in items.tolist()], dtype=np.bool_)
    return known, np.array([place[item] for item in items[known].tolist()], dtype=np.intp)
