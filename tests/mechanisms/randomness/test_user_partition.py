"""Tests of the user partition: a user has one place in an epoch, as if at random, the same after every restart."""

import numpy as np
import pytest

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.mechanisms.randomness.user_partition import partition_words

FINGERPRINT = bytes(range(16))
SECRET = bytes(range(32))
SECRETS = [number.to_bytes(32, "big") for number in range(20_000)]


def test_the_word_that_places_a_user_is_the_same_in_every_release() -> None:
    (word,) = partition_words([SECRET], fingerprint=FINGERPRINT, epoch=9_500_000)
    # By Python's hashlib, from the formula in the function's documentation.
    assert word.tobytes().hex() == "48e55dde"


def test_the_word_depends_on_user_epoch_and_collection() -> None:
    words = {
        int(partition_words([secret], fingerprint=fingerprint, epoch=epoch)[0])
        for secret in (SECRET, SECRETS[0])
        for fingerprint in (FINGERPRINT, bytes(16))
        for epoch in (-1, 0, 1, 2**40)
    }
    assert len(words) == 16, "of 16 words two are equal with probability 3e-8"


def test_user_partitions_are_even_and_independent_between_epochs() -> None:
    words = np.stack([partition_words(SECRETS, fingerprint=FINGERPRINT, epoch=epoch) for epoch in range(2)])
    eighths = words // np.uint32(RESOLUTION // 8)
    counts = np.zeros((8, 8))
    np.add.at(counts, (eighths[0], eighths[1]), 1)
    expected = len(SECRETS) / 64
    # Chi-square with 63 degrees of freedom: above 131 with probability 1e-6. The words are always the same.
    assert ((counts - expected) ** 2 / expected).sum() < 131


def test_words_for_many_users_equal_those_for_each_user_alone() -> None:
    together = partition_words(SECRETS[:5], fingerprint=FINGERPRINT, epoch=7)
    alone = [partition_words([secret], fingerprint=FINGERPRINT, epoch=7)[0] for secret in SECRETS[:5]]
    assert together.tolist() == alone
    assert partition_words([], fingerprint=FINGERPRINT, epoch=7).shape == (0,)


def test_a_secret_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a user secret has 32 bytes"):
        partition_words([SECRET, b"short"], fingerprint=FINGERPRINT, epoch=0)
