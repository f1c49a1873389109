"""What a secret determines: the question and the answer, for ever, and evenly over users."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from stream_ldp.marginals.answer import Frequencies
from stream_ldp.questions.permanent import asked, held_words, permanent_answers
from tests.marginals.examples import collection_of, users
from tests.questions.examples import solved, sums_of

COLLECTION = collection_of()
SECRETS = [hashlib.sha256(number.to_bytes(4, "little")).digest() for number in range(4_000)]


def test_users_are_asked_in_proportion_to_the_shares() -> None:
    """Of 4,000 users, each count is 6 standard deviations off for 1 set of secrets in 10^8."""
    counts = np.bincount(asked(COLLECTION, secrets=SECRETS), minlength=3)
    expected = 4_000 * COLLECTION.questions.shares
    assert np.all(np.abs(counts - expected) < 6 * np.sqrt(expected))


def test_a_user_is_asked_the_same_for_ever_and_anew_by_another_collection() -> None:
    first = asked(COLLECTION, secrets=SECRETS)
    assert np.array_equal(asked(collection_of(), secrets=SECRETS), first)
    assert not np.array_equal(asked(collection_of("epsilon: 2.1"), secrets=SECRETS), first)


def test_an_answer_stays_until_what_is_asked_changes() -> None:
    table = users(300)
    rows = permanent_answers(COLLECTION, table, secrets=SECRETS[:300])
    assert np.array_equal(permanent_answers(COLLECTION, table, secrets=SECRETS[:300]), rows)
    other = table.copy()
    other["0"] = (other["0"] + 1) % 3
    changed = (permanent_answers(COLLECTION, other, secrets=SECRETS[:300]) != rows).any(axis=1)
    about_diet = asked(COLLECTION, secrets=SECRETS[:300]) == 0
    assert not changed[~about_diet].any()
    assert changed[about_diet].any()


def test_permanent_answers_of_many_users_have_the_noise_that_is_stated() -> None:
    """4,000 users; 6 standard errors, as above."""
    people = users(4_000)
    rows = permanent_answers(COLLECTION, people, secrets=SECRETS)
    assert COLLECTION.questions.valid(rows).all()
    diet = solved(COLLECTION, (1.0, sums_of(COLLECTION, rows))).of("diet").estimate
    assert isinstance(diet, Frequencies)
    truth = np.bincount(people["0"]) / len(people)
    assert np.all(np.abs(np.array(diet.raw) - truth) < 6 * np.array(diet.standard_error))


def test_words_are_those_of_the_documented_digest() -> None:
    people = users(1)
    held = int(people["0"][0]).to_bytes(8, "little")
    data = COLLECTION.fingerprint + bytes([0, 0]) + held + bytes(4)
    digest = hashlib.blake2b(data, key=SECRETS[0], digest_size=64, person=b"stream-ldp ans 1").digest()
    words = held_words(COLLECTION, 0, people, key=SECRETS[0]).words(16)
    assert words.tobytes() == digest


def test_a_malformed_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        asked(COLLECTION, secrets=[b"short"])


def test_no_users_make_no_rows() -> None:
    assert permanent_answers(COLLECTION, users(0), secrets=[]).shape == (0, 2)
