"""What reports of places cost: each different answer of a user, at the epsilon that the user has chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.ledger.reports import AttributeReport, answers_shown, tag_of
from stream_ldp.mechanisms import AnswerCost
from stream_ldp.places.questions import CLASS
from stream_ldp.questions.reports import held_words

if TYPE_CHECKING:
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.questions.questions import Table


def charges(
    collection: PlaceCollection,
    table: Table,
    *,
    secret: bytes,  # noqa: ARG001  the user chooses the question
    tag_key: bytes | None,
) -> tuple[AttributeReport, ...]:
    """Describe what reports of these records of one user show of where the user is.

    They cost what the file says of the epsilon that the user has chosen. A user who chooses another one, or another
    region, gives another answer, which costs as well.

    table: the records, one a row, as `PlaceCollection.table` makes them.
    secret: the user's.
    tag_key: 32 bytes that only the user has; None where the answers are drawn afresh.
    """
    numbers = collection.chosen(table)
    found: list[AttributeReport] = []
    for chosen in np.unique(table[CLASS]).tolist():
        tags = [
            None if tag_key is None else tag_of(held_words(collection, number, table[[place]], key=tag_key))
            for place, number in enumerate(numbers.tolist())
            if table[CLASS][place] == chosen
        ]
        epsilon = collection.mechanism_spec.epsilon[chosen]
        found += answers_shown(collection, chosen, attribute="place", cost=AnswerCost(epsilon=epsilon), tags=tags)
    return tuple(found)
