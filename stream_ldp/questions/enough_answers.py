"""The answers that enough users have given: of questions with fewer, nothing is published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.collection import Collection
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
    questions: QuestionSet[Any], collection: Collection, windows: Sequence[tuple[float, NDArray[np.int64]]]
) -> Sequence[tuple[float, NDArray[np.int64]]]:
    """Return the sums of some windows, see `weighted_sums`, without the questions that `too_few` users answered."""
    few = np.flatnonzero(too_few(np.array([questions.draws(sums) for _, sums in windows]), collection))
    return [(weight, questions.without(few.tolist(), sums)) for weight, sums in windows] if len(few) else windows
