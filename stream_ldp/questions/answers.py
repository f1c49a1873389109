"""The answers to a question, added up over the windows that an estimate is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from stream_ldp.collection import Collection
from stream_ldp.filtering.weighted_reports import WeightedReports
from stream_ldp.questions.questions import QuestionSet, QuestionT_co


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers(Generic[QuestionT_co]):
    """The answers to one question.

    reports: their number; with memory or several of a user, the effective one.
    sums: of the randomizer, scaled to that number, float64, shape (counters,).
    """

    question: QuestionT_co
    reports: float
    sums: NDArray[np.float64]


def gathered(
    questions: QuestionSet[QuestionT_co],
    windows: Sequence[tuple[float, NDArray[np.int64]]],
    *,
    of: int | None = None,
    reports_per_user: float = 1.0,
) -> tuple[Answers[QuestionT_co], ...]:
    """Gather the answers that are about an attribute; questions that nobody has answered are left out.

    windows: (weight, sums) of each window. Their sum is scaled to the effective number of reports, see
        `WeightedReports`.
    of: position of the attribute; None for the answers to all questions.
    reports_per_user: see `WeightedReports.of`.
    """
    found = []
    for number, question in enumerate(questions.questions):
        if of is not None and of not in question.of:
            continue
        parts = [(weight, *questions.part(sums, number)) for weight, sums in windows]
        weighted = WeightedReports.of(
            ((weight, float(reports)) for weight, reports, _ in parts), reports_per_user=reports_per_user
        )
        if weighted.total:
            total = np.sum([weight * sums.astype(np.float64) for weight, _, sums in parts], axis=0)
            found.append(Answers(question=question, reports=weighted.effective, sums=weighted.scale * total))
    return tuple(found)


def too_few(drawn: NDArray[Any], collection: Collection) -> NDArray[np.bool_]:
    """Decide which questions some users have answered, but fewer than `Collection.floor`.

    Each question is a window of its own: its users are bounded as `stream_ldp.pipeline.window_task` bounds those of
    a window. Where windows have a memory, the users of the present window count: two answers that differ by theirs
    would show these.

    drawn: number of answers in each window, the present one first, and to each question, shape (windows, questions).
    """
    users = np.minimum(drawn[0], np.floor(drawn.sum(axis=0) / collection.window.reports_per_user))
    few: NDArray[np.bool_] = (users < collection.floor) & (drawn.sum(axis=0) > 0)
    return few


def enough_answers(
    questions: QuestionSet[Any], collection: Collection, windows: Sequence[tuple[float, NDArray[np.int64]]]
) -> Sequence[tuple[float, NDArray[np.int64]]]:
    """Return the sums of some windows, see `weighted_sums`, without the questions that `too_few` users answered."""
    few = np.flatnonzero(too_few(np.array([questions.draws(sums) for _, sums in windows]), collection))
    return [(weight, questions.without(few.tolist(), sums)) for weight, sums in windows] if len(few) else windows
