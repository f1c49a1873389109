"""Evaluation of collections of records: their joint distributions, in one window or in many."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.evaluation.completion import complete_estimates
from stream_ldp.evaluation.distance import average_variation_distance, coverage, joint_metrics, joint_of
from stream_ldp.evaluation.prediction import assumed_records
from stream_ldp.evaluation.trial import Assumed, Evaluation, Measured, Metric, Trial
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.cells import Totals
from stream_ldp.pipeline.newest_finals import kept_finals, period_ms_of
from stream_ldp.pipeline.solve_time import MAX_VALUES
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.bit_selection import selected
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.series import EstimateSpec
from stream_ldp.records.solve import solve
from stream_ldp.records.stream import Pane, Stream

#: Windows before this share of them are not scored: the past has only begun.
_FIRST_SCORED = 0.25


def asked(trial: Trial[JointCollection]) -> Callable[[EstimateSpec], WindowTask[EstimateSpec, Estimate]]:
    """Let the users of a trial report once, and return the question about any estimate."""
    collection, entropy = trial.collection, SeededEntropy(trial.noise)
    rows = collection.mechanism.perturb(trial.people, entropy=entropy)
    if collection.asks_a_sample:
        rows = rows[collection.asks_some(len(rows), entropy=entropy)]
    names = collection.pseudonyms(len(rows), secrets=None, time_ms=0, entropy=entropy)
    counts = RowCounts.of(np.concatenate([names, rows], axis=1), bits=collection.bits)

    def task(series: EstimateSpec) -> WindowTask[EstimateSpec, Estimate]:
        part = selected(counts, collection.row_bits_of(series.counted))
        return WindowTask(series=series, window_ms=0, final=False, windows=((1.0, (part,)),), before=None)

    return task


def measure_joints(
    trial: Trial[Any],
    *,
    asked: Callable[[Trial[Any]], Callable[[Any], WindowTask[Any, Estimate]]],
    solve: Callable[[Any, WindowTask[Any, Estimate]], Estimate],
) -> Iterator[Measured]:
    """Measure each estimate of a collection of joint distributions.

    asked: see `Evaluation`.
    solve: answers a question.
    """
    collection, task = trial.collection, asked(trial)
    for spec in collection.estimates:
        wanted = task(spec)
        begun = trial.clock()
        answer = solve(collection, wanted)
        seconds = trial.clock() - begun
        metrics = joint_metrics(answer.joint(), answer.standard_errors(), _joint(collection, spec, trial.people))
        yield Measured(spec.name, metrics | _of_fit(answer) | _epsilon(answer), seconds)


def _of_fit(answer: Estimate) -> dict[str, float]:
    return {"iterations": float(answer.fit.iterations), "certified": float(answer.fit.certified)}


def _epsilon(answer: Estimate) -> dict[str, float]:
    privacy = answer.privacy
    return {"epsilon": privacy.per_report, "epsilon_lifetime": privacy.lifetime}


def _measure(trial: Trial[JointCollection]) -> Iterator[Measured]:
    return measure_joints(trial, asked=asked, solve=solve)


def measure_windows(
    trial: Trial[JointCollection],
    *,
    windows: int,
    returning: float,
    drift: NDArray[np.int64] | None,
    in_turn: Sequence[int] = (),
    spans: Sequence[NDArray[np.int64]] | None = None,
) -> Iterator[Measured]:
    """Estimate window after window, as many users in each as the trial has, and measure each estimate.

    Distances are to the truth of a window, or of its last hop, averaged over the last three quarters of the windows:
    avd of the estimate, before_avd of the unchanged previous final, and alone_avd of the estimate from the window's
    own reports. Coverage is that of the users whose reports an answer is made of.

    windows: number of windows, at least 2; of hops, where windows overlap.
    in_turn: numbers of users of the windows in turn, if they differ: those of each number are then scored by
        themselves as well.
    returning: share of the users who report in all of them; where they take turns, all do in each of theirs.
    drift, spans: see `Stream`.

    Raises:
        ParameterError: the collection asks a sample of the users.
    """
    collection = trial.collection
    if collection.asks_a_sample:
        raise ParameterError("all users report in windows that are compared: leave `sample` out")
    stream = Stream(
        population=trial.population,
        drift=drift,
        mechanism=collection.mechanism,
        users=in_turn or (len(trial.people),),
        panes=windows,
        # Where users take turns, all of a window come again after as many.
        returning=returning if collection.rotate is None else 1.0,
        turns=collection.rotate or 1,
        spans=spans,
    )
    history = _History(collection)
    found: dict[str, list[dict[str, float]]] = {spec.name: [] for spec in collection.estimates}
    by_number: dict[str, list[dict[str, float]]] = {}
    finals: dict[str, list[Estimate]] = {spec.name: [] for spec in collection.estimates}
    for number, pane in enumerate(stream.draw(trial.sampling, trial.noise)):
        history.add(pane)
        for spec in collection.estimates:
            known = finals[spec.name]
            lag = max(1, (period_ms_of(collection, known) or 0) // collection.turn_ms)
            final_before = known[-lag] if len(known) >= lag else known[-1] if known else None
            task, made_of = history.task(spec, before=final_before)
            begun = trial.clock()
            answer = solve(collection, task)
            finals[spec.name] = [*known, answer][-kept_finals(collection) :]
            seconds = trial.clock() - begun
            if number >= _FIRST_SCORED * windows:
                truth = _joint(collection, spec, pane.people)
                metrics = joint_metrics(answer.joint(), answer.standard_errors(), truth)
                metrics["coverage"] = coverage(answer.joint(), answer.standard_errors(), made_of)
                metrics |= _of_parts(answer, final_before, truth) | {"seconds": seconds}
                found[spec.name].append(metrics)
                if in_turn:
                    by_number.setdefault(f"{spec.name}, {len(pane.people):,} users", []).append(metrics)
    for name, scored in [*found.items(), *by_number.items()]:
        means = {metric: float(np.mean([each[metric] for each in scored])) for metric in scored[0]}
        seconds = means.pop("seconds")
        last = {f"last_{metric}": scored[-1][metric] for metric in ("avd", "coverage")}
        yield Measured(name, means | last | _epsilon(answer), seconds)


def _of_parts(answer: Estimate, before: Estimate | None, truth: NDArray[np.float64]) -> dict[str, float]:
    """Measure the previous final, and the estimate from the window alone, as estimates of the window's users."""
    joints = {
        "before_avd": None if before is None else before.joint(),
        "alone_avd": None if answer.temporal is None else np.array(answer.temporal.alone).reshape(answer.shape),
    }
    return {
        name: average_variation_distance(joint, truth)
        for name, joint in joints.items()
        if joint is not None and joint.shape == truth.shape
    }


class _History:
    """The panes of a stream until now, and the questions that a collection asks about them."""

    def __init__(self, collection: JointCollection) -> None:
        self._collection = collection
        self._panes: dict[int, tuple[RowCounts, NDArray[np.int64]]] = {}
        window = collection.window
        # The first pane begins a window, and a period of linked reports; none before it begins at a negative time.
        self._next_ms = window.size_ms * (collection.linked_ms or window.size_ms)

    def add(self, pane: Pane) -> None:
        """Add the next pane."""
        rows = pane.rows
        if self._collection.linked_ms is not None:
            names = pane.users.astype("<u8").view(np.uint8).reshape(len(pane.users), -1)
            rows = np.concatenate([names, rows], axis=1)
        self._panes[self._next_ms] = RowCounts.of(rows, bits=self._collection.bits), pane.people
        self._next_ms += self._collection.window.pane_ms

    def task(
        self, spec: EstimateSpec, *, before: Estimate | None
    ) -> tuple[WindowTask[EstimateSpec, Estimate], NDArray[np.float64]]:
        """Ask about the window that ends with the latest pane.

        Returns:
            The question, and the joint distribution of the users whom the answer is about.
        """
        collection, size_ms = self._collection, self._collection.window.size_ms
        start_ms = self._next_ms - size_ms
        windows, joints, weights = [], [], []
        for weight, begin_ms in ((1.0, start_ms), *collection.windows_before(start_ms)):
            panes = [pane for at_ms, pane in self._panes.items() if begin_ms <= at_ms < begin_ms + size_ms]
            if panes:
                parts = tuple(selected(counts, collection.row_bits_of(spec.counted)) for counts, _ in panes)
                windows.append((weight, parts))
                # An answer from linked reports is about the window's own users.
                if collection.linked_ms is None or begin_ms == start_ms:
                    joints += [_joint(collection, spec, people) for _, people in panes]
                    weights += [weight] * len(panes)
        task: WindowTask[EstimateSpec, Estimate] = WindowTask(
            series=spec, window_ms=start_ms, final=True, windows=tuple(windows), before=before
        )
        return task, np.average(joints, axis=0, weights=weights)


def _joint(collection: Any, spec: Any, people: Any) -> NDArray[np.float64]:
    """Compute the joint distribution of users, of the attributes of an estimate."""
    return joint_of(np.stack(collection.columns_of(people, spec), axis=1), collection.sizes_of(spec))


#: Of joint distributions, what plans predict.
JOINT_ERRORS = {
    "avd": Metric("the distance from the users who report, half the sum of the errors of all cells"),
    "rmse": Metric("the root mean square of the error of a cell"),
}
#: Who they are whom plans of joint distributions assume.
DEPENDENT_USERS = (
    "pairs of their attributes are 0.07 to 0.15 from independent; where they are independent, or most users have few "
    "values, errors are smaller"
)
#: Most reports that a plan draws, and most rows times cells of one of its solves: either takes a tenth of a second.
_MOST, _ROW_CELLS = 30_000, 3_000_000


def _once(collection: JointCollection) -> tuple[JointCollection, float]:
    """Return the collection of different users, of whom none is drawn for a sample, and the design effect."""
    effect = collection.mechanism.design_effect(reports_per_user=collection.window.reports_per_user)
    window = collection.window.model_copy(update={"reports_per_user": 1.0})
    return collection.model_copy(update={"window": window, "linked_ms": None, "sample": None}), effect


def _assumed(collection: JointCollection) -> Assumed | None:
    """Draw users; of estimates that differ in their attributes alone, one is measured."""
    like: dict[object, list[EstimateSpec]] = {}
    most = _MOST
    for spec in collection.estimates:
        sizes = collection.sizes_of(spec)
        if max(sizes) > MAX_VALUES:
            return None
        counted = tuple(collection.sizes[place] for place in collection.positions_of(spec.counted))
        cells = math.prod(sizes)
        if math.prod(2.0**size - 1 for size in counted) * cells > _ROW_CELLS:
            most = min(most, max(1, _ROW_CELLS // cells))
        shape = sizes, counted, spec.model_copy(update={"name": "", "of": (), "among": None})
        like.setdefault(shape, []).append(spec)
    return Assumed(
        collection=collection.model_copy(update={"estimates": tuple(alike[0] for alike in like.values())}),
        like={alike[0].name: [each.name for each in alike] for alike in like.values()},
        population=assumed_records(collection.sizes, most, seed=1),
    )


EVALUATION = Evaluation(
    measure=_measure,
    complete=complete_estimates,
    windows=measure_windows,
    asked=asked,
    predicts=JOINT_ERRORS,
    once=_once,
    assumed=_assumed,
    assumes=DEPENDENT_USERS,
)


def totals(collection: Any, table: Any) -> Totals:
    """Count the users in each cell of each estimate; see `Kind.totals`.

    collection: of joint distributions, whatever its users report.
    table: users, one a row, as the collection's `table` makes them.
    """
    found = {}
    for estimate in collection.estimates:
        values = [attribute.labels for attribute in collection.attributes_of(estimate)]
        cells, counts = np.unique(np.stack(collection.columns_of(table, estimate)), axis=1, return_counts=True)
        for cell, count in zip(cells.T.tolist(), counts.tolist(), strict=True):
            names = tuple(labels[value] for labels, value in zip(values, cell, strict=True))
            found[estimate.name, ("", names)] = float(count)
    return found
