"""Reports of users of whom each answers one question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.mechanisms import random_words
from stream_ldp.questions.permanent import permanent_answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.questions import HasQuestions, Table


def reports(
    collection: HasQuestions,
    table: Table,
    *,
    secrets: Sequence[bytes] | None,
    memoises: bool,
    time_ms: int,  # noqa: ARG001  for reports that are linked
    entropy: Entropy,
) -> NDArray[np.uint8]:
    """Perturb records; see `stream_ldp.pipeline.kind.Reports`.

    Each report answers the one question that the user has chosen, that the user's secret determines, or that is drawn
    for it where its noise is fresh. The rest of the record does not leave this machine, not even with noise.
    """
    questions, numbers = collection.questions, collection.chosen(table)
    if secrets is not None and memoises:
        answers = permanent_answers(collection, table, secrets=secrets, numbers=numbers)
        return questions.instantaneous(answers, entropy=entropy)
    if numbers is None:
        # One that comes again, such as one of 1,000 cohorts, would narrow down whose the reports are.
        numbers = questions.numbers(random_words(len(table), entropy=entropy))
    return questions.perturb(numbers, table, entropy=entropy)
