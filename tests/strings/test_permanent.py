"""What a secret determines: the question, the seed and the answer, for ever, and whatever the string is."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from stream_ldp.strings.permanent import asked, held_words, permanent_answers
from tests.strings.examples import collection_of, users

COLLECTION = collection_of()
SECRETS = [hashlib.sha256(number.to_bytes(4, "little")).digest() for number in range(2_000)]


def test_question_and_seed_do_not_depend_on_the_string() -> None:
    """Of 2,000 users, each count is 6 standard deviations off for 1 set of secrets in 10^8."""
    numbers, seeds = asked(COLLECTION, secrets=SECRETS)
    expected = 2_000 * COLLECTION.method.questions.shares
    assert np.all(np.abs(np.bincount(numbers, minlength=3) - expected) < 6 * np.sqrt(expected))
    assert len(set(seeds.tolist())) > 1_990
    again = asked(collection_of(), secrets=SECRETS)
    assert np.array_equal(again[0], numbers)
    assert np.array_equal(again[1], seeds)
    answers = COLLECTION.method.questions.answers(
        permanent_answers(COLLECTION, users(COLLECTION, 2_000), secrets=SECRETS)
    )
    assert np.array_equal(answers.numbers, numbers)
    assert np.array_equal(answers.seeds, seeds)


def test_a_report_changes_only_with_what_is_asked_about() -> None:
    string = COLLECTION.string
    tables = [COLLECTION.table([string.encode(word)] * 300) for word in ("banana", "bandit", "cherry")]
    first, second, third = (permanent_answers(COLLECTION, table, secrets=SECRETS[:300]) for table in tables)
    numbers, _ = asked(COLLECTION, secrets=SECRETS[:300])
    about_two_letters = numbers == 0
    assert np.array_equal(first[about_two_letters], second[about_two_letters])
    assert not np.array_equal(first[about_two_letters], third[about_two_letters])
    assert not np.array_equal(first[numbers == 2], second[numbers == 2])


def test_words_are_those_of_the_documented_digest() -> None:
    data = COLLECTION.fingerprint + bytes([2, 0]) + (17).to_bytes(8, "little") + bytes(4)
    digest = hashlib.blake2b(data, key=SECRETS[0], digest_size=64, person=b"stream-ldp ans 1").digest()
    words = held_words(COLLECTION, 2, np.array([17]), key=SECRETS[0]).words(16)
    assert words.tobytes() == digest


def test_a_secret_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a user secret has 32 bytes"):
        asked(COLLECTION, secrets=[b"short"])
    assert permanent_answers(COLLECTION, COLLECTION.table([]), secrets=[]).shape == (0, 6)
