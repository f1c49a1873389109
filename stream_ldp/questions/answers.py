"""The answers to a question, added up over the windows that an estimate is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

import numpy as np

from stream_ldp.filtering.weighted_reports import WeightedReports
from stream_ldp.questions.questions import QuestionT_co

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.questions.questions import QuestionSet


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
