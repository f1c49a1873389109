"""Evaluation of collections of views: their joint distributions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from stream_ldp.evaluation.completion import complete_estimates
from stream_ldp.evaluation.trial import Evaluation
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.questions.asking import asked_sums
from stream_ldp.records.evaluation import measure_joints
from stream_ldp.views.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream_ldp.evaluation.trial import Measured, Trial
    from stream_ldp.questions.attributes import AskedAttribute
    from stream_ldp.records.answer import Estimate
    from stream_ldp.views.collection import ViewsCollection
    from stream_ldp.views.design import Design
    from stream_ldp.views.series import ViewEstimateSpec
    from stream_ldp.views.spec import ViewsSpec

#: Users whose answers are made at once: a subset of the largest view then takes 8 MiB.
_USERS_AT_ONCE = 2**14


def _asked(trial: Trial[ViewsCollection]) -> Callable[[ViewEstimateSpec], WindowTask[ViewEstimateSpec, Estimate]]:
    """Let the users of a trial tell one view each, and return the question about any estimate."""
    questions = trial.collection.questions
    sums = asked_sums(questions, trial.people, entropy=SeededEntropy(trial.noise), at_once=_USERS_AT_ONCE)
    told = ReportSums(reports=len(trial.people), values=sums)

    def task(series: ViewEstimateSpec) -> WindowTask[ViewEstimateSpec, Estimate]:
        return WindowTask(series=series, window_ms=0, final=False, windows=((1.0, (told,)),), before=None)

    return task


def _measure(trial: Trial[ViewsCollection]) -> Iterator[Measured]:
    """Measure each estimate, with what the formula expects that chooses designs."""
    collection = trial.collection
    design = _design(collection.mechanism_spec, collection.attributes)
    for spec, found in zip(collection.estimates, measure_joints(trial, asked=_asked, solve=solve), strict=True):
        places = tuple(sorted(collection.positions_of(spec.of)))
        metrics: dict[str, Any] = {
            "avd_expected": design.expected_avd(len(trial.people), sets=[places]),
            "chosen": design.name,
        }
        yield found._replace(metrics=dict(found.metrics) | metrics)


@lru_cache(maxsize=4)
def _design(spec: ViewsSpec, attributes: tuple[AskedAttribute, ...]) -> Design:
    return spec.design(attributes)


def _ask_with(document: dict[str, Any], label: str) -> None:
    """Ask about a label with each other attribute, unless the document says what is asked."""
    document["mechanism"].setdefault("ask", {"with": label})


EVALUATION = Evaluation(measure=_measure, complete=complete_estimates, asked=_asked, predicting=_ask_with)
