"""The solver of sampled collections: it answers a task of the pipeline with the marginals of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.filtering.filtered import FilteredEstimate, filter_window, returning_share
from stream_ldp.marginals.answer import AnswerPrivacy, Frequencies, Marginal, Marginals, Numbers, Outputs
from stream_ldp.pipeline.published import published_of_window
from stream_ldp.pipeline.window_task import WindowTask, weighted_sums
from stream_ldp.questions.answers import gathered, too_few
from stream_ldp.questions.plan import published
from stream_ldp.questions.reports import assumption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.pipeline.window_series import WindowSeries


def solve(collection: SampledCollection, task: WindowTask[WindowSeries, Marginals]) -> Marginals:
    """Solve a task about one window."""
    questions = collection.questions
    windows = weighted_sums(task, counters=questions.counters)
    _, current = windows[0]
    plausibility = questions.plausibility(current, reports_per_user=collection.window.reports_per_user)
    return Marginals(
        **task.head(collection),
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


def filtered_estimate(
    collection: SampledCollection,
    task: WindowTask[WindowSeries, Marginals],
    found: Frequencies | Numbers | Outputs,
    *,
    attribute: str,
    reports: float,
) -> FilteredEstimate | None:
    """Estimate the frequencies of an attribute, or its mean, with previous windows.

    A user is permanently asked one question and repeats the answer, so all of the noise of a user who returns is
    permanent, and only new users say anything new.

    found: what the window alone says.
    reports: number of answers about the attribute in the window.

    Returns:
        The estimates, of the frequencies in the order of `values`, or of the mean. None where nothing can be learnt,
        see `returning_share`, or the candidates are only those that stand out in this window.
    """
    returning = returning_share(collection, collection.prior)
    if returning is None or found.measured is None:
        return None
    estimates, errors, spread = found.measured
    return filter_window(
        _before(task, attribute, found),
        estimates,
        errors,
        returning=returning,
        reports=reports,
        elapsed=task.elapsed(collection.window.size_ms),
        forgotten=task.forgotten(collection.window),
        final=task.final,
        spread=spread,
    )


def _before(
    task: WindowTask[WindowSeries, Marginals], attribute: str, found: Frequencies | Numbers | Outputs
) -> FilteredEstimate | None:
    """Find the previous final's estimates of the same values; a worker may have had other candidates then."""
    before = task.earlier
    if before is None:
        return None
    earlier = next((each.estimate for each in before.attributes if each.attribute == attribute), None)
    return earlier.learnt if earlier is not None and earlier.subject == found.subject else None
