"""Tests of pseudonyms: one for each user, collection and period, that say nothing else."""

import json

import numpy as np
import pytest

from stream_ldp.mechanisms import OSEntropy
from stream_ldp.mechanisms.randomness.pseudonym import pseudonyms, random_pseudonyms
from tests.paths import GOLDEN

FINGERPRINT = bytes(range(16))
SECRET = bytes(range(32))


def test_pseudonyms_are_those_of_the_specification() -> None:
    golden = json.loads((GOLDEN / "linked.json").read_text())
    secret, fingerprint = bytes.fromhex(golden["secret"]), bytes.fromhex(golden["fingerprint"])
    for each in golden["pseudonyms"]:
        (made,) = pseudonyms([secret], fingerprint=fingerprint, period=each["period"])
        assert made.tobytes().hex() == each["pseudonym"]


def test_a_pseudonym_changes_with_user_collection_and_period() -> None:
    made = {
        pseudonyms([secret], fingerprint=fingerprint, period=period).tobytes()
        for secret in (SECRET, bytes(32))
        for fingerprint in (FINGERPRINT, bytes(16))
        for period in (-1, 0, 1, 2**40)
    }
    assert len(made) == 16
    assert {len(each) for each in made} == {8}


def test_pseudonyms_of_many_users_equal_those_of_each_user_alone() -> None:
    secrets = [bytes([user]) * 32 for user in range(5)]
    together = pseudonyms(secrets, fingerprint=FINGERPRINT, period=7)
    alone = [pseudonyms([secret], fingerprint=FINGERPRINT, period=7)[0].tolist() for secret in secrets]
    assert together.tolist() == alone
    assert pseudonyms([], fingerprint=FINGERPRINT, period=7).shape == (0, 8)


def test_a_secret_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a user secret has 32 bytes"):
        pseudonyms([SECRET, b"short"], fingerprint=FINGERPRINT, period=0)


def test_random_pseudonyms_link_nothing() -> None:
    drawn = random_pseudonyms(1_000, entropy=OSEntropy())
    assert drawn.shape == (1_000, 8)
    assert len(np.unique(drawn, axis=0)) == 1_000, "two are equal with probability 3e-14"
