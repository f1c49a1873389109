"""Reports about strings, which each answer one question: what a secret determines, the report, and its cost.

If a client drew the question, the seed or the answer anew at every start, a user could answer every question, or the
noise of many answers to one question would average out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.ledger.reports import AttributeReport, answers_shown, tag_of
from stream_ldp.mechanisms import AnswerCost, random_words
from stream_ldp.mechanisms.randomness.permanent import KeyedWords
from stream_ldp.mechanisms.randomness.user_secret import keyed_digests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.strings.collection import StringCollection

_QUESTION = b"stream-ldp str 1"  # BLAKE2b's 16-byte domain separation
_ANSWER = b"stream-ldp ans 1"
_WORDS = 2
_WORD_BYTES = 4


def asked(collection: StringCollection, *, secrets: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the number of the question that each user is asked, and the seed of the answer, each of shape (n,).

    They come from the two words of BLAKE2b(key=secret, person="stream-ldp str 1", data=fingerprint) of 8 bytes,
    little-endian, which do not depend on the user's string. The user is asked the first question that ends beyond the
    first word, see `StringQuestions.ends`; the second is the seed.

    Raises:
        ValueError: a secret has another length.
    """
    size = _WORDS * _WORD_BYTES
    words = keyed_digests(secrets, person=_QUESTION, data=collection.fingerprint, size=size).view("<u4")
    return collection.method.questions.numbers(words[:, 0]), words[:, 1].astype(np.uint32)


def permanent_answers(
    collection: StringCollection, table: NDArray[np.integer], *, secrets: Sequence[bytes]
) -> NDArray[np.uint8]:
    """Make the permanent report of each user, valid as long as the input of its randomizers does not change.

    table: symbols of the users' strings, shape (n, length).

    Returns:
        Packed rows, uint8, shape (n, row width), see `StringQuestions.perturb`.
    """
    questions = collection.method.questions
    numbers, seeds = asked(collection, secrets=secrets)
    inputs = questions.inputs(numbers, seeds, table)
    rows = []
    for user, key in enumerate(secrets):
        words = held_words(collection, int(numbers[user]), inputs[user], key=key)
        one = slice(user, user + 1)
        rows.append(questions.perturb(numbers[one], seeds[one], inputs[one], entropy=words))
    return np.concatenate(rows) if rows else np.zeros((0, -(-questions.bits // 8)), dtype=np.uint8)


def held_words(collection: StringCollection, number: int, inputs: NDArray[np.int64], *, key: bytes) -> KeyedWords:
    """Return the words of a key for one user's answer to a question, which depend on what its randomizers are given.

    They are those of `KeyedWords` with person "stream-ldp ans 1" and the data fingerprint || number of the question
    u16 || the input of each randomizer i64. So strings with one hash have one answer.

    inputs: shape (randomizers,).
    """
    held = inputs.astype("<i8").tobytes()
    return KeyedWords(key, person=_ANSWER, data=collection.fingerprint + number.to_bytes(2, "little") + held)


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
