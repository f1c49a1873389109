"""What answers cost: each different answer of a user to a question once, as the ledger charges it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.ledger.reports import answers_shown, tag_of
from stream_ldp.questions.permanent import asked, held_words, settled

if TYPE_CHECKING:
    from stream_ldp.ledger.reports import AttributeReport
    from stream_ldp.mechanisms import ReportCost
    from stream_ldp.questions.collection import AskingCollection
    from stream_ldp.questions.questions import Table


def charges(
    collection: AskingCollection, table: Table, *, secret: bytes, tag_key: bytes | None
) -> tuple[AttributeReport, ...]:
    """Describe what reports of these records of one user show of what the user is asked about.

    table: the records, one a row, as `AskingCollection.table` makes them.
    secret: the user's, which determines the question, and what is settled of it.
    tag_key: 32 bytes that only the user has; None where the answers are drawn afresh.
    """
    questions = collection.questions.questions
    if tag_key is None:
        # Each answers a question of its own, and is charged as the one that costs most.
        number = max(range(len(questions)), key=lambda each: _one_report(questions[each].cost))
        tags: list[str | None] = [None] * len(table)
    else:
        (number,) = asked(collection, secrets=[secret]).tolist()
        held = [settled(collection, number, table[[place]], secret=secret) for place in range(len(table))]
        tags = [tag_of(held_words(collection, number, each, key=tag_key)) for each in held]
    question = questions[number]
    return answers_shown(
        collection,
        number,
        attribute=" and ".join(attribute.name for attribute in question.attributes),
        cost=question.cost,
        tags=tags,
    )


def _one_report(cost: ReportCost) -> float:
    return cost.responses_loss(responses=1, reports=1)
