"""Many users who are asked at once, as an evaluation plays them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.mechanisms import random_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.questions import QuestionSet, Table


def asked_sums(
    questions: QuestionSet[Any],
    people: Table,
    *,
    entropy: Entropy,
    at_once: int,
    chosen: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Ask each user one question, and add up the answers, int64, shape (counters,).

    people: users, one a row.
    at_once: number of users whose answers are in memory at a time.
    chosen: number of the question of each user, shape (n,); drawn by the shares of the questions without it.
    """
    sums = np.zeros(questions.counters, dtype=np.int64)
    for first in range(0, len(people), at_once):
        part = people[first : first + at_once]
        numbers = (
            questions.numbers(random_words(len(part), entropy=entropy))
            if chosen is None
            else chosen[first : first + at_once]
        )
        sums += questions.sums(questions.perturb(numbers, part, entropy=entropy))
    return sums
