"""What reports of strings cost: each different answer of a user to a question once, as the ledger charges it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.ledger.reports import answers_shown, tag_of
from stream_ldp.mechanisms import AnswerCost
from stream_ldp.strings.permanent import asked, held_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.ledger.reports import AttributeReport
    from stream_ldp.strings.collection import StringCollection


def charges(
    collection: StringCollection, table: NDArray[np.integer], *, secret: bytes, tag_key: bytes | None
) -> tuple[AttributeReport, ...]:
    """Describe what reports of these strings of one user show of them.

    table: symbols of the strings, shape (n, length).
    secret: the user's, which determines the question.
    tag_key: 32 bytes that only the user has; None where the answers are drawn afresh.
    """
    questions, users = collection.method.questions, len(table)
    shown = partial(
        answers_shown, collection, attribute=collection.string.name, cost=AnswerCost(epsilon=questions.epsilon)
    )
    if tag_key is None:
        # Each draws a question of its own, and all of them cost the same: one account will do.
        return shown(0, tags=[None] * users)
    (number,), seeds = asked(collection, secrets=[secret])
    return shown(
        int(number),
        tags=[
            tag_of(held_words(collection, int(number), inputs, key=tag_key))
            for inputs in questions.inputs(np.full(users, number), np.repeat(seeds, users), table)
        ],
        # The seed is the same in all reports of a user, and of 32 bits.
        linked=True,
    )
