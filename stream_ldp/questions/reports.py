"""Reports of users who each answer one question: what a secret determines, the report, and its cost.

If a client drew the question or the answer anew at every start, a user could answer every question, or the noise of
many answers to one question would average out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.ledger.reports import AttributeReport, answers_shown, tag_of
from stream_ldp.mechanisms import random_words
from stream_ldp.mechanisms.randomness.permanent import KeyedWords
from stream_ldp.mechanisms.randomness.user_secret import keyed_digests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.collection import AskingCollection, CollectionOfQuestions
    from stream_ldp.questions.questions import QuestionSet, Table

# What the privacy of a user who reports more than once rests on.
_REPEATED = "any two users; what a user is asked about does not change, and every report repeats the same answer"
_PERTURBED_AGAIN = (
    "any two users; each report perturbs a permanent answer again, which lasts as long as the value, or its bucket "
    "where values are hashed; each other permanent answer costs as much, and what a change itself shows is not "
    "counted"
)

_QUESTION = b"stream-ldp qst 1"  # BLAKE2b's 16-byte domain separation
_ANSWER = b"stream-ldp ans 1"
_WORD_BYTES = 4


def assumption(questions: QuestionSet[Any]) -> str:
    """Say what the privacy of a user who reports more than once rests on."""
    return _REPEATED if questions.memoised is questions else _PERTURBED_AGAIN


def asked(collection: CollectionOfQuestions, *, secrets: Sequence[bytes]) -> NDArray[np.int64]:
    """Return the number of the question that each user is asked, int64, shape (n,).

    A user's word is the first 4 bytes, little-endian, of BLAKE2b(key=secret, person="stream-ldp qst 1",
    data=fingerprint), which does not depend on what the user holds. The user is asked the first question that ends
    beyond the word, see `QuestionSet.ends`.

    Raises:
        ValueError: a secret has another length.
    """
    words = keyed_digests(secrets, person=_QUESTION, data=collection.fingerprint, size=_WORD_BYTES).view("<u4")
    return collection.questions.numbers(words[:, 0])


def permanent_answers(
    collection: CollectionOfQuestions,
    table: Table,
    *,
    secrets: Sequence[bytes],
    numbers: NDArray[np.int64] | None = None,
) -> NDArray[np.uint8]:
    """Make the permanent answer of each user, valid as long as what is asked does not change.

    table: users, one a row.
    numbers: of the questions that they answer; None for those that their secrets determine.

    Returns:
        Packed rows, uint8, shape (n, row width), see `QuestionSet.memoised`.
    """
    questions = collection.questions.memoised
    if numbers is None:
        numbers = asked(collection, secrets=secrets)
    rows = [
        questions.perturb(
            numbers[[user]],
            held,
            entropy=held_words(collection, number, held, key=key),
        )
        for user, (key, number) in enumerate(zip(secrets, numbers.tolist(), strict=True))
        for held in [settled(collection, number, table[[user]], secret=key)]
    ]
    return np.concatenate(rows) if rows else np.zeros((0, -(-questions.bits // 8)), dtype=np.uint8)


def settled(collection: CollectionOfQuestions, number: int, user: Table, *, secret: bytes) -> Table:
    """Return what a user holds with the decisions about a question that no change of it alters.

    See `Question.settled`.

    Their words are those of `held_words` with nothing held.

    user: a table of the one user.
    """
    words = KeyedWords(secret, person=_ANSWER, data=collection.fingerprint + number.to_bytes(2, "little"))
    return collection.questions.questions[number].settled(user, words=words)


def held_words(collection: CollectionOfQuestions, number: int, user: Table, *, key: bytes) -> KeyedWords:
    """Return the words of a key for one user's answer to a question, which depend on what the user holds of it.

    They are those of `KeyedWords` with person "stream-ldp ans 1". The data are fingerprint || number of the question
    u16 || for each attribute in question, its number in the list i64, or the number itself f64; of an attribute whose
    values are hashed, the bucket i64.

    user: a table of the one user.
    """
    (held,) = collection.questions.questions[number].held(user)
    return KeyedWords(key, person=_ANSWER, data=collection.fingerprint + number.to_bytes(2, "little") + held)


def reports(
    collection: CollectionOfQuestions,
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
        number = max(
            range(len(questions)), key=lambda each: questions[each].cost.responses_loss(responses=1, reports=1)
        )
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
