"""The answers that enough users have given: of questions with fewer, nothing is published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.pipeline.weighted_sums import weighted_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.window_task import WindowTask
    from stream_ldp.questions.questions import QuestionSet


def too_few(drawn: NDArray[Any], collection: Collection) -> NDArray[np.bool_]:
    """Decide which questions some users have answered, but fewer than `Collection.floor`.

    Each question is a window of its own: its users are bounded as `stream_ldp.pipeline.fewest_users` bounds those of
    a window. Where windows have a memory, the users of the present window count: two answers that differ by theirs
    would show these.

    drawn: number of answers in each window, the present one first, and to each question, shape (windows, questions).
    """
    users = np.minimum(drawn[0], np.floor(drawn.sum(axis=0) / collection.window.reports_per_user))
    few: NDArray[np.bool_] = (users < collection.floor) & (drawn.sum(axis=0) > 0)
    return few


def enough_answers(
    questions: QuestionSet[Any], collection: Collection, task: WindowTask[Any, Any]
) -> list[tuple[float, NDArray[np.int64]]]:
    """Add up each window of a task, see `weighted_sums`, without the questions that `too_few` users have answered."""
    windows = weighted_sums(task, counters=questions.counters)
    few = np.flatnonzero(too_few(np.array([questions.draws(sums) for _, sums in windows]), collection))
    return [(weight, questions.without(few.tolist(), sums)) for weight, sums in windows] if len(few) else windows
