"""What earlier epochs show of the items of an epoch's result.

A result leaves its candidates with their frequencies and errors to the next epoch, whose rankings pass it on until
its own last phase. An item that was no candidate then has no past. Users answer every epoch with new noise, so those
who return say something new. What sets larger than the padding have cost is the same in every epoch: more epochs
leave that doubt as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.filtering.filtered import filter_numbers, places_among
from stream_ldp.filtering.local_level import Level
from stream_ldp.sets.answer import EarlierEpochs, FilteredCandidates
from stream_ldp.sets.phases import RankingEstimate


class FilteredEpoch(NamedTuple):
    """The result of an epoch: the estimate, what it has from earlier epochs, and what it leaves to the next one."""

    estimate: RankingEstimate
    learnt: FilteredCandidates
    left: EarlierEpochs


def filter_epoch(
    estimate: RankingEstimate, earlier: EarlierEpochs | None, *, epoch: int, reports: int, seeks_period: bool = False
) -> FilteredEpoch:
    """Estimate the candidates of an epoch's last phase with previous epochs.

    estimate: that of the epoch alone.
    earlier: what the last epoch with a result has left; None if there was none.
    reports: number of reports of the last phase, at least 1.
    seeks_period: whether a period is sought: see `WindowTask.forgotten`.
    """
    elapsed = 1 if earlier is None else epoch - earlier.epoch
    items, alone = estimate.items, estimate.frequency
    doubt = np.zeros(len(items)) if estimate.unseen is None else estimate.unseen
    places = places_among(items.tolist(), () if earlier is None else earlier.items)
    after = filter_numbers(
        None if earlier is None else _level(earlier),
        alone,
        estimate.standard_error,
        permanent=_squared_share(doubt, estimate.standard_error),
        reports=float(reports),
        elapsed=elapsed,
        forgotten=elapsed if seeks_period else 1,
        places=places,
    )
    if earlier is not None:
        past = np.where(places >= 0, after.reports / (after.reports + reports), 0.0)
        doubt = (1.0 - past) * doubt + past * np.array(earlier.doubt)[places]
    error = np.hypot(np.sqrt(after.level.variances), doubt)
    order = np.argsort(-after.mean, kind="stable")
    items, frequency = items[order], after.mean[order]
    return FilteredEpoch(
        estimate=RankingEstimate(items=items, frequency=frequency, standard_error=error[order]),
        learnt=FilteredCandidates(
            alone=tuple(alone[order].tolist()),
            weight=after.reports,
            drift=after.drift,
            jumped=after.jumped,
        ),
        left=EarlierEpochs(
            epoch=epoch,
            items=tuple(items.tolist()),
            frequency=tuple(frequency.tolist()),
            variance=tuple(after.level.variances[order].tolist()),
            doubt=tuple(doubt[order].tolist()),
            scores=tuple(after.level.scores[order].tolist()),
            evidence=tuple(after.level.evidence.tolist()),
        ),
    )


def _level(earlier: EarlierEpochs) -> Level:
    """Return what earlier epochs have left, which has as much doubt about larger sets as any epoch."""
    return Level.of(
        mean=earlier.frequency, variances=earlier.variance, scores=earlier.scores, evidence=earlier.evidence
    )


def _squared_share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute which share of a variance another one is, from standard deviations."""
    found: NDArray[np.float64] = np.minimum(part / np.maximum(whole, np.finfo(np.float64).tiny), 1.0) ** 2
    return found
