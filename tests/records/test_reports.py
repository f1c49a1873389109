"""Reports of records: the permanent response of each user, and the pseudonym before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import reports
from tests.client.examples import collection_of

PERMANENT_ONLY = collection_of(mechanism="{kind: rr-ldp, f: 0.25}")
LINKED = JointCollection.model_validate(collection_of().document | {"linked": 3_600_000})
SECRETS = [bytes([user]) * 32 for user in range(8)]
TABLE = PERMANENT_ONLY.table([(user % 2, user % 3) for user in range(8)])


def made(collection: JointCollection, *, seed: int = 0, **options: Any) -> Any:
    given: dict[str, Any] = {"secrets": SECRETS, "memoises": True, "time_ms": 0} | options
    return reports(collection, TABLE, entropy=SeededEntropy(seed), **given)


def test_a_user_repeats_one_permanent_response() -> None:
    words = PERMANENT_ONLY.permanent_words().words_of(SECRETS, TABLE)
    expected = PERMANENT_ONLY.mechanism.perturb(TABLE, entropy=SeededEntropy(9), permanent_words=words)
    assert np.array_equal(made(PERMANENT_ONLY, seed=1), expected)
    assert not np.array_equal(made(PERMANENT_ONLY, seed=1, memoises=False), made(PERMANENT_ONLY, memoises=False))


def test_a_pseudonym_stands_before_each_row_and_is_drawn_afresh_with_fresh_noise() -> None:
    names = LINKED.pseudonyms(8, secrets=SECRETS, time_ms=0, entropy=SeededEntropy(0))
    assert np.array_equal(made(LINKED)[:, : names.shape[1]], names)
    fresh = [made(LINKED, seed=seed, memoises=False)[:, : names.shape[1]] for seed in (1, 2)]
    assert len(np.unique(np.concatenate([names, *fresh]), axis=0)) == 24
