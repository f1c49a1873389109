"""Evaluation of collections of views: their joint distributions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.evaluation.completion import complete_estimates
from stream_ldp.evaluation.prediction import USUAL_DEPENDENCE
from stream_ldp.evaluation.trial import Assumed, Evaluation, Measured, Metric, Trial
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.cells import LEVEL, normal_quantile
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.questions.asking import asked_sums, assumed_table
from stream_ldp.records.evaluation import DEPENDENT_USERS, JOINT_ERRORS, measure_joints
from stream_ldp.views.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream_ldp.questions.attributes import AskedAttribute
    from stream_ldp.questions.questions import Table
    from stream_ldp.records.answer import Estimate
    from stream_ldp.views.collection import ViewsCollection
    from stream_ldp.views.design import Design
    from stream_ldp.views.series import ViewEstimateSpec
    from stream_ldp.views.spec import ViewsSpec

#: Ranges of each width that are measured, and the seed that they are drawn with.
_RANGES, _SEED = 100, 7

#: Users whose answers are made at once: a subset of the largest view then takes 8 MiB.
_USERS_AT_ONCE = 2**14


def _asked(trial: Trial[ViewsCollection]) -> Callable[[ViewEstimateSpec], WindowTask[ViewEstimateSpec, Estimate]]:
    """Let the users of a trial report one view each, and return the question about any estimate."""
    questions = trial.collection.questions
    sums = asked_sums(questions, trial.people, entropy=SeededEntropy(trial.noise), at_once=_USERS_AT_ONCE)
    answered = ReportSums.of(reports=len(trial.people), values=sums)

    def task(series: ViewEstimateSpec) -> WindowTask[ViewEstimateSpec, Estimate]:
        return WindowTask(series=series, window_ms=0, final=False, windows=((1.0, (answered,)),), before=None)

    return task


def _measure(trial: Trial[ViewsCollection]) -> Iterator[Measured]:
    """Measure each estimate, with what the formula expects that chooses designs."""
    collection, answers = trial.collection, {}

    def solved(of: ViewsCollection, task: WindowTask[ViewEstimateSpec, Estimate]) -> Estimate:
        answers[task.series.name] = solve(of, task)
        return answers[task.series.name]

    design = _design(collection.mechanism_spec, collection.attributes)
    for spec, found in zip(collection.estimates, measure_joints(trial, asked=_asked, solve=solved), strict=True):
        places = tuple(sorted(collection.positions_of(spec.of)))
        metrics: dict[str, Any] = {
            "avd_expected": design.expected_avd(len(trial.people), sets=[places]),
            "chosen": design.name,
        }
        ranges = _of_ranges(answers[spec.name], collection, trial.people)
        yield found._replace(metrics=dict(found.metrics) | metrics | ranges)


def _of_ranges(answer: Estimate, collection: ViewsCollection, people: Table) -> dict[str, float]:
    """Measure ranges of all numbers of an estimate together; nothing where it has none.

    range_tenth and range_half are the mean absolute error of the share of users in random ranges that are a tenth and
    half as wide as those of the attributes; range_coverage is the part of them within 1.96 standard errors.
    """
    if not answer.numbers:
        return {}
    names = [number.attribute for number in answer.numbers]
    columns = np.stack([people[str(place)] for place in collection.positions_of(names)], axis=1)
    least, largest = np.array([(number.cells[0], number.cells[-1]) for number in answer.numbers]).T
    measured, within, rng = {}, [], np.random.default_rng(_SEED)
    for name, width in (("range_tenth", 0.1), ("range_half", 0.5)):
        lows = least + rng.random((_RANGES, len(names))) * (1 - width) * (largest - least)
        missed = []
        for low, high in zip(lows, lows + width * (largest - least), strict=True):
            ends = zip(low.tolist(), high.tolist(), strict=True)
            (cell,) = answer.within(dict(zip(names, ends, strict=True)))
            missed.append(abs(cell.estimate - float(((columns >= low) & (columns <= high)).all(axis=1).mean())))
            within.append(missed[-1] <= normal_quantile(LEVEL) * (cell.standard_error or 0.0))
        measured[name] = float(np.mean(missed))
    return measured | {"range_coverage": float(np.mean(within))}


@lru_cache(maxsize=4)
def _design(spec: ViewsSpec, attributes: tuple[AskedAttribute, ...]) -> Design:
    return spec.design(attributes)


def _ask_with(document: dict[str, Any], label: str) -> None:
    """Ask about a label with each other attribute, unless the document says what is asked."""
    document["mechanism"].setdefault("ask", {"with": label})


def _assumed(collection: ViewsCollection) -> Assumed:
    """Draw users; of estimates that are asked about alike, one is measured."""
    spec, questions = collection.mechanism_spec, collection.questions
    sizes = [len(each.labels) if each.range is None else 0 for each in collection.attributes]
    like: dict[object, list[ViewEstimateSpec]] = {}
    for estimate in collection.estimates:
        of = set(collection.positions_of(estimate.of))
        answered = sorted(
            (float(share), *sorted(sizes[place] for place in of.intersection(view.of)))
            for share, view in zip(questions.shares, questions.questions, strict=True)
        )
        shape = collection.sizes_of(estimate), str(answered), estimate.model_copy(update={"name": "", "of": ()})
        like.setdefault(shape, []).append(estimate)
    return Assumed(
        collection=collection.model_copy(update={"estimates": tuple(alike[0] for alike in like.values())}),
        like={alike[0].name: [each.name for each in alike] for alike in like.values()},
        population=assumed_table(collection.attributes, dependence=spec.dependence or USUAL_DEPENDENCE),
    )


EVALUATION = Evaluation(
    measure=_measure,
    complete=complete_estimates,
    asked=_asked,
    predicting=_ask_with,
    predicts=JOINT_ERRORS
    | {
        "range_tenth": Metric("the error of the share of users in ranges a tenth as wide as those of the numbers"),
        "range_half": Metric("the same of ranges half as wide"),
    },
    assumed=_assumed,
    assumes=DEPENDENT_USERS,
)
