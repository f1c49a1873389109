"""The solver of sampled collections: it answers a question of the pipeline with the marginals of a window."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.marginals.answer import (
    AnswerPrivacy,
    Distribution,
    Frequencies,
    Marginal,
    Marginals,
    Mean,
    Numbers,
    Outputs,
)
from stream_ldp.marginals.estimates import (
    estimate_distribution,
    estimate_frequencies,
    estimate_mean,
    estimate_outputs,
)
from stream_ldp.marginals.temporal import learnt
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.published import published_of_window
from stream_ldp.pipeline.weighted_sums import weighted_sums
from stream_ldp.questions.answers import gathered
from stream_ldp.questions.permanent import ASSUMPTION, REPEATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.pipeline.question import Question
    from stream_ldp.pipeline.window_series import WindowSeries
    from stream_ldp.questions.answers import Answers
    from stream_ldp.questions.attributes import AskedAttribute

__all__ = ["solve"]


def solve(collection: SampledCollection, question: Question[WindowSeries, Marginals]) -> Marginals:
    """Answer a question about one window."""
    questions = collection.questions
    windows = weighted_sums(question, counters=questions.counters)
    _, current = windows[0]
    return Marginals(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        window=WindowBounds(start_ms=question.window_ms, end_ms=question.window_ms + collection.window.size_ms),
        final=question.final,
        reports=question.reports,
        attributes=tuple(
            _marginal(collection, question, place, windows) for place in range(len(collection.attributes))
        ),
        plausibility=questions.plausibility(current, reports_per_user=collection.window.reports_per_user),
        privacy=AnswerPrivacy(
            per_report=questions.epsilon,
            for_ever=questions.for_ever,
            assumption=ASSUMPTION if questions.epsilon == questions.for_ever else REPEATED,
            published=published_of_window(question, collection, epsilon=questions.epsilon, inputs="any two users"),
        ),
    )


def _marginal(
    collection: SampledCollection,
    question: Question[WindowSeries, Marginals],
    place: int,
    windows: Sequence[tuple[float, NDArray[np.int64]]],
) -> Marginal:
    attribute, questions = collection.attributes[place], collection.questions
    answers = gathered(questions, windows, of=place, reports_per_user=collection.window.reports_per_user)
    _, current = windows[0]
    about = [number for number, each in enumerate(questions.questions) if place in each.of]
    estimate = _estimate(attribute, place, answers) if answers else None
    reports = sum(each.reports for each in answers)
    if isinstance(estimate, Frequencies | Numbers):
        with_past = learnt(collection, question, estimate, attribute=attribute.name, reports=reports)
        estimate = estimate.model_copy(update={"learnt": with_past})
    return Marginal(
        attribute=attribute.name,
        mechanism=" and ".join(dict.fromkeys(questions.questions[number].title for number in about)),
        reports=int(questions.draws(current)[about].sum()),
        effective_reports=reports,
        estimate=estimate,
    )


def _estimate(attribute: AskedAttribute, place: int, answers: Sequence[Answers]) -> Frequencies | Numbers | Outputs:
    outputs = estimate_outputs(answers)
    if outputs is not None:
        share, error = outputs
        channel: Any = answers[0].question.randomizer
        return Outputs(
            values=attribute.labels,
            rank=channel.rank,
            share=tuple(share.tolist()),
            standard_error=tuple(error.tolist()),
        )
    if attribute.range is None:
        found = estimate_frequencies(answers)
        kept = found.kept
        return Frequencies(
            values=tuple(compress(attribute.labels, kept)),
            raw=tuple(found.raw[kept].tolist()),
            standard_error=tuple(found.standard_error[kept].tolist()),
            projected=tuple(found.projected[kept].tolist()),
            others=found.others,
            dropped=tuple(compress(attribute.labels, ~kept)),
        )
    mean, distribution = estimate_mean(answers, of=place), estimate_distribution(answers)
    least, largest = attribute.bounds
    half = (largest - least) / 2
    raw = least + (mean.raw + 1) * half
    return Numbers(
        range=attribute.bounds,
        mean=Mean(raw=raw, standard_error=mean.standard_error * half, projected=min(max(raw, least), largest)),
        distribution=None
        if distribution is None
        else Distribution(
            points=tuple(np.linspace(least, largest, len(distribution)).tolist()),
            probability=tuple(distribution.tolist()),
        ),
    )
