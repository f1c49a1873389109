"""The solver of collections of views: it answers a task of the pipeline with an estimate."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.pipeline.published import published_of_window
from stream_ldp.pipeline.window_task import WindowTask, weighted_sums
from stream_ldp.questions.answers import enough_answers
from stream_ldp.questions.plan import published
from stream_ldp.questions.reports import assumption
from stream_ldp.records.answer import Estimate, Independence, Privacy, Temporal, View
from stream_ldp.records.answer import Fit as FitMessage
from stream_ldp.records.distribution import Axis
from stream_ldp.records.numbers import NumberAxis, even_curve, leading
from stream_ldp.views.errors import errors_of
from stream_ldp.views.fitting import CHANGE, Fit, Joint
from stream_ldp.views.independence import dependence
from stream_ldp.views.tables import Told, view_tables
from stream_ldp.views.temporal import FilteredFit, filter_fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.questions.questions import QuestionSet
    from stream_ldp.views.cells import ViewAxis
    from stream_ldp.views.collection import ViewsCollection
    from stream_ldp.views.question import AnyViewQuestion
    from stream_ldp.views.series import ViewEstimateSpec

#: Chance that attributes that are independent are found to be dependent, as for collections of records.
SIGNIFICANCE = 0.05

#: Least chance that is stated, as for collections of records: so far out, the statistic is no chi-square.
_MIN_P_VALUE = 0.001

#: Fits that are kept for the other estimates of a window, with some collections and windows in turn.
_KEPT_FITS = 8


def solve(collection: ViewsCollection, task: WindowTask[ViewEstimateSpec, Estimate]) -> Estimate:
    """Solve a task about one window of one estimate."""
    spec, window, questions = task.series, collection.window, collection.questions
    windows = weighted_sums(task, counters=questions.counters)
    _, current = windows[0]
    _, counted = enough_answers(questions, collection, windows)[0]
    of, attributes = collection.positions_of(spec.of), collection.attributes_of(spec)
    tables, alone = fitted(collection, task)
    filtered = filter_fit(collection, task, tables, alone)
    fit = alone if filtered is None else filtered.fit
    joint = fit.joint(of)
    errors = errors_of(fit, tables, joint.probability, of=of)
    numbers = tuple(_numbers(attributes, of, fit, tables))
    plausibility = questions.plausibility(current, reports_per_user=window.reports_per_user)
    return Estimate(
        **task.head(collection),
        estimate=spec.name,
        effective_reports=sum(table.reports for table in tables if _is_used(table.of, of)),
        axes=tuple(Axis(attribute=attribute.name, values=attribute.labels) for attribute in attributes),
        probability=tuple(joint.probability.ravel().tolist()),
        standard_error=tuple(errors.standard_error.ravel().tolist()),
        effects=errors.effects,
        numbers=numbers,
        deviations=tuple(map(tuple, leading(errors.deviations).tolist())) if numbers else (),
        fit=_fit(joint),
        independence=_independence(fit, of),
        plausibility=plausibility,
        privacy=Privacy(
            per_report=questions.epsilon,
            lifetime=questions.lifetime,
            all_answers=questions.all_answers,
            assumption=assumption(questions),
            published=published_of_window(task, collection, published, plausibility=plausibility),
        ),
        temporal=None if filtered is None else _temporal(filtered, alone=alone.joint(of)),
        views=tuple(_views(questions, current, counted, of)),
    )


def fitted(collection: ViewsCollection, task: WindowTask[ViewEstimateSpec, Estimate]) -> tuple[list[Told], Fit]:
    """Fit the window of a task, once for all estimates and records that are made of it."""
    questions, window = collection.questions, collection.window
    windows = enough_answers(questions, collection, weighted_sums(task, counters=questions.counters))
    return _fitted(
        questions,
        tuple((weight, sums.tobytes()) for weight, sums in windows),
        reports_per_user=window.reports_per_user,
        sizes=collection.record_sizes,
    )


@lru_cache(maxsize=_KEPT_FITS)
def _fitted(
    questions: QuestionSet[AnyViewQuestion],
    windows: tuple[tuple[float, bytes], ...],
    *,
    reports_per_user: float,
    sizes: tuple[int, ...],
) -> tuple[list[Told], Fit]:
    """Fit the sums of some windows."""
    sums = [(weight, np.frombuffer(values, dtype=np.int64)) for weight, values in windows]
    tables = view_tables(questions, sums, reports_per_user=reports_per_user)
    return tables, Fit(tables, sizes=sizes)


def _numbers(axes: Sequence[ViewAxis], of: Sequence[int], fit: Fit, tables: Sequence[Told]) -> Iterator[NumberAxis]:
    """Iterate over the numbers among some attributes, with the distribution of each."""
    curves = {table.of[0]: table.curve for table in tables if table.curve is not None}
    for axis, place in zip(axes, of, strict=True):
        if axis.edges is not None:
            known = curves.get(place) or even_curve(axis.edges, axis.numbers)
            yield NumberAxis.of(axis.name, axis.edges, fit.margin(place), known)


def _is_used(view: Sequence[int], of: Sequence[int]) -> bool:
    return not set(view).isdisjoint(of)


def _views(
    questions: QuestionSet[AnyViewQuestion],
    sums: NDArray[np.int64],
    counted: NDArray[np.int64],
    of: Sequence[int],
) -> list[View]:
    """List the views that include some of the attributes, with the number of their answers in the window.

    counted: the sums of the views that enough users have reported.
    """
    drawn = zip(questions.questions, questions.draws(sums), questions.draws(counted), strict=True)
    return [
        View(
            attributes=tuple(attribute.name for attribute in view.attributes),
            reports=int(reports),
            withheld=bool(used < reports),
        )
        for view, reports, used in drawn
        if _is_used(view.of, of)
    ]


def _fit(joint: Joint) -> FitMessage:
    return FitMessage(
        method="views",
        stop="sweeps",
        start="independence",
        iterations=joint.sweeps,
        certificate=joint.change,
        certified=joint.change <= CHANGE,
        tolerance=CHANGE,
    )


def _temporal(filtered: FilteredFit, *, alone: Joint) -> Temporal:
    coefficients = filtered.learnt.coefficients
    return Temporal(
        alone=tuple(alone.probability.ravel().tolist()),
        users=filtered.users,
        drift=coefficients.drift,
        jumped=coefficients.jumped,
        views=filtered.learnt,
    )


def _independence(fit: Fit, of: Sequence[int]) -> Independence:
    """Test whether any pair of the attributes depends on each other."""
    # Not imported above: a program that only reads a collection solves nothing, and need not wait for SciPy.
    from scipy.special import chdtrc  # noqa: PLC0415

    shown = dependence(fit, of=of)
    p_value = float(chdtrc(shown.freedom, shown.statistic)) if shown.freedom else 1.0
    return Independence(
        marginals=tuple(fit.margin(place) for place in of),
        statistic=shown.statistic,
        p_value=max(p_value, _MIN_P_VALUE),
        dependent=p_value < SIGNIFICANCE and math.isfinite(shown.statistic),
    )
