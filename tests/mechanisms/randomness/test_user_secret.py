"""Tests of the secret of a user, and of what follows from it."""

import hashlib

import numpy as np
import pytest

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.randomness.user_secret import (
    SECRET_BYTES,
    drawn_secrets,
    keyed_digests,
    new_secret,
    require_secret,
)

PERSON = b"stream-ldp tst 1"


def test_secrets_are_drawn_apart_and_have_their_length() -> None:
    secrets = [new_secret(), new_secret(), *drawn_secrets(3, entropy=SeededEntropy(1))]
    assert len(set(secrets)) == 5
    assert {len(each) for each in secrets} == {SECRET_BYTES}


def test_the_digests_of_many_users_are_those_of_each_alone() -> None:
    secrets = drawn_secrets(3, entropy=SeededEntropy(2))
    alone = [hashlib.blake2b(b"data", key=each, digest_size=8, person=PERSON).digest() for each in secrets]
    together = keyed_digests(secrets, person=PERSON, data=b"data", size=8)
    assert [row.tobytes() for row in together] == alone
    assert np.array_equal(keyed_digests([], person=PERSON, data=b"data", size=8), np.zeros((0, 8), dtype=np.uint8))


@pytest.mark.parametrize("length", [0, SECRET_BYTES - 1, SECRET_BYTES + 1])
def test_a_secret_of_another_length_is_refused_and_not_repeated(length: int) -> None:
    secret = b"s" * length
    for use in (require_secret, lambda each: keyed_digests([each], person=PERSON, data=b"", size=4)):
        with pytest.raises(ValueError, match=f"has {SECRET_BYTES} bytes, got {length}$"):
            use(secret)
