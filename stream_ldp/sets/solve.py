"""The solver of collections of item sets: it answers a task with a ranking."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.collection import AUTO_PERIOD
from stream_ldp.filtering.filtered import filter_numbers, places_among
from stream_ldp.filtering.local_level import Level
from stream_ldp.mechanisms.privacy_loss import UNCHANGED_SET
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.sets.answer import (
    Candidate,
    EarlierEpochs,
    EpochPrivacy,
    FilteredCandidates,
    FrequentItemset,
    HeavyHitter,
    NextPhase,
    Ranking,
    SetSizes,
)
from stream_ldp.sets.item_sets import class_names
from stream_ldp.sets.phases import RankingEstimate, Target, epoch_epsilon, epochs_epsilon, item_phases, itemsets_of
from stream_ldp.sets.plan import AS_MUCH, published_of_phases

if TYPE_CHECKING:
    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.pipeline.window_task import WindowTask
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.series import PhaseSeries


def solve(collection: ItemCollection, task: WindowTask[PhaseSeries, Ranking]) -> Ranking:
    """Solve a task about one window of one phase.

    Raises:
        ValueError: the window does not ask the phase.
        TypeError: a part of the task is no sum of reports.
    """
    method, schedule = collection.method, collection.schedule
    phase, before = task.series, task.before
    earlier = None if before is None else before.earlier
    if phase.number == 1:
        before = None  # The result of an earlier epoch: nothing else is taken from it.
    inquiry = method.first() if before is None else before.next_inquiry
    epoch = schedule.epoch_at(task.window_ms, phase.number)
    if inquiry is None or inquiry.phase != phase.number or epoch is None:
        raise ValueError(f"reports to {phase.name} in the window of {task.window_ms} ms, which does not ask it")
    oracle = method.oracle(inquiry)
    lifetime = epochs_epsilon(method, epochs=math.inf)
    ((_, parts),) = task.counts(ReportSums)
    sums = ReportSums.sum(parts, counters=oracle.counters)
    if task.silent_until_ms is None:
        estimate, following = method.solve(
            inquiry, sums=sums.values, reports=sums.reports, before=None if before is None else before.estimate
        )
    else:
        estimate, following = RankingEstimate.of_none(), None
    items_found, asks_sizes = item_phases(method), method.phases[phase.number - 1].asked is Target.SIZE
    counts_itemsets = phase.number == schedule.phases > items_found
    learnt = None
    if collection.is_temporal and phase.number == items_found and sums.reports:
        seeks = collection.window.period_ms == AUTO_PERIOD
        estimate, learnt, earlier = filter_epoch(
            estimate, earlier, epoch=epoch, reports=sums.reports, seeks_period=seeks
        )
    ranking_reports = (*(() if before is None else before.reports_per_phase), sums.reports)
    plausibility = oracle.plausibility(sums.values)
    # As `published_of_window` says, for every phase so far.
    hides = task.final and not plausibility.flagged and (before is None or before.privacy.published is not None)
    return Ranking(
        **task.head(collection),
        method=method.name,
        epoch=epoch,
        phase=phase.number,
        phases=schedule.phases,
        about="sizes" if asks_sizes else "itemsets" if phase.number > items_found else "items",
        complete=task.final and phase.number in (items_found, schedule.phases),
        reports_per_phase=ranking_reports,
        sizes=_sizes(collection, oracle, sums) if asks_sizes and sums.reports else (),
        drawn=estimate.drawn,
        unseen=_unseen(estimate, k=method.k) if phase.number == items_found else None,
        items=_heavy_hitters(collection, estimate) if phase.number <= items_found else (),
        itemsets=_itemsets(collection, estimate, before) if counts_itemsets and before is not None else (),
        candidates=() if counts_itemsets else _candidates(estimate),
        next_phase=None if following is None else NextPhase.of(following),
        learnt=learnt,
        earlier=earlier if collection.is_temporal and task.final and phase.number <= items_found else None,
        plausibility=plausibility,
        privacy=EpochPrivacy(
            per_epoch=epoch_epsilon(method),
            phases=tuple(each.epsilon for each in method.phases),
            lifetime=None if lifetime == math.inf else lifetime,
            assumption=f"any two sets of items; {_of_other_epochs(lifetime)}",
            published=published_of_phases(collection, ranking_reports) if hides else None,
        ),
    )


def _sizes(collection: ItemCollection, oracle: FrequencyOracle, sums: ReportSums) -> tuple[SetSizes, ...]:
    """List how many users have sets of each class of sizes, with frequencies clipped to [0, 1]."""
    frequency = oracle.estimate(sums.values, reports=sums.reports)
    error = oracle.standard_errors(frequency, reports=sums.reports)
    return tuple(
        SetSizes(of=of, frequency=min(max(share, 0.0), 1.0), standard_error=each)
        for of, share, each in zip(
            class_names(collection.items.count), frequency.tolist(), error.tolist(), strict=True
        )
    )


def _unseen(estimate: RankingEstimate, *, k: int) -> float | None:
    """Compute the part of the squared errors of the k best items that is a doubt; None without errors."""
    squares = float(np.sum(estimate.standard_error[:k] ** 2))
    if not 0.0 < squares < math.inf:
        return None
    return 0.0 if estimate.unseen is None else min(float(np.sum(estimate.unseen[:k] ** 2)) / squares, 1.0)


def _candidates(estimate: RankingEstimate) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(number=number, frequency=frequency, standard_error=error)
        for number, frequency, error in zip(
            estimate.items.tolist(), estimate.frequency.tolist(), estimate.standard_error.tolist(), strict=True
        )
    )


def _itemsets(collection: ItemCollection, estimate: RankingEstimate, before: Ranking) -> tuple[FrequentItemset, ...]:
    """List the most frequent itemsets, with frequencies clipped to [0, 1].

    before: the answer before, whose candidates are the items that they are made of.
    """
    shares = {each.number: min(max(each.frequency, 0.0), 1.0) for each in before.candidates}
    return tuple(
        FrequentItemset(
            rank=rank,
            items=tuple(map(collection.items.name, items)),
            frequency=min(max(frequency, 0.0), 1.0),
            standard_error=error,
            by_chance=math.prod(shares.get(item, 0.0) for item in items),
        )
        for rank, (items, frequency, error) in enumerate(
            zip(
                itemsets_of(estimate.items),
                estimate.frequency.tolist(),
                estimate.standard_error.tolist(),
                strict=True,
            ),
            start=1,
        )
    )


def _of_other_epochs(lifetime: float) -> str:
    return AS_MUCH if lifetime == math.inf else f"for a lifetime, if {UNCHANGED_SET}"


def _heavy_hitters(collection: ItemCollection, estimate: RankingEstimate) -> tuple[HeavyHitter, ...]:
    """List the k most frequent items, with frequencies clipped to [0, 1]."""
    k = collection.method.k
    return tuple(
        HeavyHitter(
            rank=rank,
            item=collection.items.name(item),
            frequency=frequency,
            standard_error=None if estimate.drawn else error,
        )
        for rank, (item, frequency, error) in enumerate(
            zip(
                estimate.items[:k].tolist(),
                np.clip(estimate.frequency[:k], 0.0, 1.0).tolist(),
                estimate.standard_error[:k].tolist(),
                strict=True,
            ),
            start=1,
        )
    )


class FilteredEpoch(NamedTuple):
    """The result of an epoch: the estimate, what it has from earlier epochs, and what it leaves to the next one."""

    estimate: RankingEstimate
    learnt: FilteredCandidates
    left: EarlierEpochs


def filter_epoch(
    estimate: RankingEstimate, earlier: EarlierEpochs | None, *, epoch: int, reports: int, seeks_period: bool = False
) -> FilteredEpoch:
    """Estimate the candidates of an epoch's last phase with previous epochs.

    A result leaves its candidates with their frequencies and errors to the next epoch, whose rankings pass it on
    until its own last phase. An item that was no candidate then has no past. Users answer every epoch with new noise,
    so those who return say something new. What sets larger than the padding have cost is the same in every epoch:
    more epochs leave that doubt as it is.

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
        estimate=RankingEstimate(items=items, frequency=frequency, standard_error=error[order], unseen=doubt[order]),
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
    return np.minimum(part / np.maximum(whole, np.finfo(np.float64).tiny), 1.0) ** 2
