"""Reports of users of whom each answers one question about a string, such as that about the first two letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.mechanisms import random_words
from stream_ldp.strings.permanent import permanent_answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.strings.collection import StringCollection


def reports(
    collection: StringCollection,
    table: NDArray[np.integer],
    *,
    secrets: Sequence[bytes] | None,
    memoises: bool,
    time_ms: int,  # noqa: ARG001  for reports that are linked
    entropy: Entropy,
) -> NDArray[np.uint8]:
    """Perturb strings; see `stream_ldp.pipeline.kind.Reports`."""
    if secrets is not None and memoises:
        return permanent_answers(collection, table, secrets=secrets)
    questions = collection.method.questions
    # A seed that comes again, or a question, would be a pseudonym of reports that have nothing else in common.
    numbers = questions.numbers(random_words(len(table), entropy=entropy))
    seeds = random_words(len(table), entropy=entropy)
    return questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, table), entropy=entropy)
