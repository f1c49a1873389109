"""What earlier epochs tell of the items of an epoch's result.

A result leaves its candidates with their frequencies and errors to the next epoch, whose rankings pass it on until
its own last phase. An item that was no candidate then has no past. Users answer every epoch with new noise, so those
who return say something new.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.pipeline.learnt import places_among, updated
from stream_ldp.pipeline.local_level import Level
from stream_ldp.sets.answer import EarlierEpochs, Learnt

if TYPE_CHECKING:
    from stream_ldp.sets.phases import RankingEstimate

__all__ = ["Result", "learn"]


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
    after = updated(
        None if earlier is None else _level(earlier),
        alone,
        estimate.standard_error,
        permanent=0.0,
        reports=float(reports),
        elapsed=1 if earlier is None else epoch - earlier.epoch,
        places=places_among(items.tolist(), () if earlier is None else earlier.items),
    )
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


def _level(earlier: EarlierEpochs) -> Level:
    """Return what earlier epochs have left, none of whose noise is permanent."""
    return Level(
        mean=np.array(earlier.frequency, dtype=np.float64),
        variances=np.array(earlier.variance, dtype=np.float64),
        permanent=np.ones(len(earlier.items)),
        evidence=np.array(earlier.evidence),
    )
