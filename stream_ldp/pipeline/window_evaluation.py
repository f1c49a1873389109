"""Evaluation of collections of any kind whose users report in one window after another, without rounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.evaluation.trial import Measured, Trial
from stream_ldp.mechanisms import SECRET_BYTES, SeededEntropy
from stream_ldp.pipeline.newest_finals import final_followed, kept_finals, period_ms_of
from stream_ldp.pipeline.window_task import WindowTask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.cells import CellKey
    from stream_ldp.pipeline.kind import Kind

#: Windows before this share of them are not scored: the past has only begun.
_FIRST_SCORED = 0.25


def measure_windows(
    trial: Trial[Any],
    *,
    kind: Kind[Any, Any, Any],
    windows: int,
    returning: float,
    spans: Sequence[NDArray[np.int64]] | None = None,
) -> Iterator[Measured]:
    """Let users report in window after window, answer each, and compare its cells with what is true of its users.

    Over the last three quarters of the windows: rmse is of the published numbers, before_rmse of the unchanged
    previous final, and learnt_rmse of numbers learnt from previous windows, where these stand beside the others. All
    are shares of a number's range; and coverage, the share of the numbers within their interval.

    windows: number of windows, at least 2.
    returning: share of the users who report in all of them, with the permanent noise of one secret; where users take
        turns, all do in each of theirs.
    spans: numbers of those rows of the population of whom the users of each window are; None for all in each.

    Raises:
        ParameterError: the collection asks a sample of the users, or its windows share reports or have rounds.
    """
    collection, perturb = trial.collection, kind.reports_at_once
    if perturb is None:
        raise ParameterError(f"windows of {kind.name} are not compared: what they ask depends on earlier answers")
    if collection.window.shares_reports or (collection.asked_share < 1 and collection.rotate is None):
        raise ParameterError(
            "all users report in windows that are compared, and in each anew: leave out sample, hop and memory"
        )
    layout, count = kind.layout(collection), len(trial.people)
    rng, entropy = np.random.default_rng(trial.sampling), SeededEntropy(trial.noise)
    every = np.arange(len(trial.population))
    turns, same = (1, round(returning * count)) if collection.rotate is None else (collection.rotate, count)
    secrets = [[rng.bytes(SECRET_BYTES) for _ in range(same)] for _ in range(turns)]
    cohorts = [rng.choice(every, same) for _ in range(turns)]
    finals: dict[str, list[Any]] = {series.name: [] for series in collection.series}
    found: dict[str, list[dict[str, float]]] = {series.name: [] for series in collection.series}
    seconds = 0.0
    for number in range(windows):
        # The first window has a period before it.
        start_ms = (number + windows) * collection.window.size_ms + (collection.window.period_ms or 0)
        new = rng.choice(every if spans is None else spans[number], count - same)
        rows, people = [], np.concatenate([cohorts[number % turns], new])
        for part, keys in ((cohorts[number % turns], secrets[number % turns]), (new, None)):
            if len(part):
                users = kind.evaluation.taken(trial.population, part)
                rows.append(
                    perturb(collection, users, secrets=keys, memoises=True, time_ms=start_ms, entropy=entropy)
                )
        tallies = layout.tallies()
        layout.count(tallies, np.concatenate(rows))
        counted = {name: tuple(tally.take_changed(closing=True).values()) for name, tally in tallies.items()}
        totals = kind.totals(collection, kind.evaluation.taken(trial.population, people))
        for series in collection.series:
            known = finals[series.name]
            same_phase_ms = collection.same_phase_ms(start_ms, period_ms=period_ms_of(collection, known))
            before = final_followed(known, start_ms=None, same_phase_ms=same_phase_ms)
            statistic = series.statistic(before)
            parts = counted[statistic] if statistic is not None else ()
            begun = trial.clock()
            answer = kind.solve(
                collection,
                WindowTask(series=series, window_ms=start_ms, final=True, windows=((1.0, parts),), before=before),
            )
            seconds += trial.clock() - begun
            if number >= _FIRST_SCORED * windows:
                true = {key: total / count for (target, key), total in totals.items() if target == answer.target}
                found[series.name].append(_scored(answer, before, true))
            finals[series.name] = [*known, answer][-kept_finals(collection) :]
    for name, scored in found.items():
        names = dict.fromkeys(metric for each in scored for metric in each)
        means = {metric: [each[metric] for each in scored if metric in each] for metric in names}
        yield Measured(
            name,
            {
                metric: math.sqrt(float(np.mean(np.square(each)))) if "rmse" in metric else float(np.mean(each))
                for metric, each in means.items()
            },
            seconds / len(found),
        )


def _scored(answer: Answer, before: Answer | None, true: dict[CellKey, float]) -> dict[str, float]:
    """Compare the cells of an answer with what is true of its users; cells that nobody has may be missing there."""
    offs, learnt, within = _compared(answer, true)
    earlier = [] if before is None else _compared(before, true)[0]
    named = {"rmse": offs, "learnt_rmse": learnt, "before_rmse": earlier}
    scored = {name: math.sqrt(float(np.mean(np.square(each)))) for name, each in named.items() if each}
    return scored | ({"coverage": float(np.mean(within))} if within else {})


def _compared(answer: Answer, true: dict[CellKey, float]) -> tuple[list[float], list[float], list[bool]]:
    """Compare the cells of an answer with the truth.

    Returns:
        How far each is off, as a share of what it can be; the same of what is learnt beside it; and which are within
        their intervals.
    """
    offs: list[float] = []
    learnt: list[float] = []
    within: list[bool] = []
    compared = {group for group, _ in true}
    for cell in answer.cells():
        # As displays do: what nothing is known of, or has no name, such as points of a curve, is not compared.
        if math.isnan(cell.estimate) or not cell.names or cell.group not in compared:
            continue
        least, largest = cell.range
        number = true.get(cell.key, 0.0) * answer.look.scale
        offs.append((cell.estimate - number) / (largest - least))
        if "learnt" in cell.others:  # of a count of users, it is their share
            learnt.append((cell.others["learnt"] * answer.look.scale - number) / (largest - least))
        if (interval := cell.interval()) is not None:
            within.append(interval[0] <= number <= interval[1])
    return offs, learnt, within
