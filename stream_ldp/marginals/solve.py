"""The solver of sampled collections: it answers a task of the pipeline with the marginals of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.marginals.answer import (
    AnswerPrivacy,
    Marginal,
    Marginals,
)
from stream_ldp.marginals.temporal import filtered_estimate
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.published import published_of_window
from stream_ldp.pipeline.weighted_sums import weighted_sums
from stream_ldp.questions.answers import gathered
from stream_ldp.questions.enough_answers import too_few
from stream_ldp.questions.permanent import assumption
from stream_ldp.questions.published import published

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.pipeline.window_series import WindowSeries
    from stream_ldp.pipeline.window_task import WindowTask


def solve(collection: SampledCollection, task: WindowTask[WindowSeries, Marginals]) -> Marginals:
    """Solve a task about one window."""
    questions = collection.questions
    windows = weighted_sums(task, counters=questions.counters)
    _, current = windows[0]
    plausibility = questions.plausibility(current, reports_per_user=collection.window.reports_per_user)
    return Marginals(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        window=WindowBounds(start_ms=task.window_ms, end_ms=task.window_ms + collection.window.size_ms),
        final=task.final,
        reports=task.reports,
        attributes=tuple(_marginal(collection, task, place, windows) for place in range(len(collection.attributes))),
        plausibility=plausibility,
        privacy=AnswerPrivacy(
            per_report=questions.epsilon,
            lifetime=questions.lifetime,
            all_answers=questions.all_answers,
            assumption=assumption(questions),
            published=published_of_window(task, collection, published, plausibility=plausibility),
        ),
    )


def _marginal(
    collection: SampledCollection,
    task: WindowTask[WindowSeries, Marginals],
    place: int,
    windows: Sequence[tuple[float, NDArray[np.int64]]],
) -> Marginal:
    attribute, questions = collection.attributes[place], collection.questions
    answers = gathered(questions, windows, of=place, reports_per_user=collection.window.reports_per_user)
    about = [number for number, each in enumerate(questions.questions) if place in each.of]
    reports = sum(answer.reports for answer in answers)
    drawn = np.array([[questions.draws(sums)[about].sum()] for _, sums in windows])
    withheld = bool(too_few(drawn, collection)[0])
    estimate = None
    if answers and not withheld:
        found = answers[0].question.estimate(answers, of=place).message(attribute)
        estimate = found.with_past(
            filtered_estimate(collection, task, found, attribute=attribute.name, reports=reports)
        )
    return Marginal(
        attribute=attribute.name,
        mechanism=" and ".join(dict.fromkeys(questions.questions[number].title for number in about)),
        reports=int(drawn[0, 0]),
        effective_reports=reports,
        withheld=withheld,
        estimate=estimate,
    )
