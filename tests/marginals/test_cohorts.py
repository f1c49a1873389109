"""Cohorts: fixed hashes, buckets, and values in a list that are hashed like texts."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.marginals.cohorts import BucketQuestion
from stream_ldp.marginals.question import AttributeQuestion
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.hashing import bucket_of
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.questions import QuestionSet
from tests.marginals.examples import spec_of

SITES = AskedAttribute(name="site", candidates=("a.example", "b.example", "c.example", "d.example"))
SHARES = {"a.example": 0.4, "b.example": 0.2, "c.example": 0.1}


def questions_of(
    oracle: str, epsilon: float = 2.0, attribute: AskedAttribute = SITES
) -> QuestionSet[AttributeQuestion]:
    again = {"per_report": epsilon / 2} if oracle == "loloha" else {}
    spec = spec_of({"kind": "sampled", "epsilon": epsilon, "oracle": oracle, "cohorts": 16, **again})
    return spec.questions([attribute])


def test_a_bucket_is_the_documented_digest() -> None:
    """Computed by b2sum -l 64 of the bytes, read as a little-endian number."""
    assert [bucket_of("a.example", cohort=cohort, buckets=2**32) for cohort in (0, 1)] == [1794991448, 2645255862]
    assert bucket_of("Zürich", cohort=7, buckets=10) == 0


@pytest.mark.parametrize("oracle", ["o-rr", "o-rappor", "loloha"])
def test_values_of_one_bucket_hold_the_same_and_others_another(oracle: str) -> None:
    """So a change within a bucket neither shows nor costs, whether a client has the list or only the text."""
    values = tuple(f"v{number}" for number in range(40))
    listed = AskedAttribute(name="site", values=values)
    texts, numbers = np.empty(40, dtype=[("0", "O")]), np.empty(40, dtype=[("0", "<i8")])
    texts["0"], numbers["0"] = values, range(40)
    one, two = questions_of(oracle).questions[3], questions_of(oracle, attribute=listed).questions[3]
    assert isinstance(one, BucketQuestion)
    buckets = [bucket_of(value, cohort=3, buckets=one.randomizer.size) for value in values]
    assert one.held(texts) == two.held(numbers) == [bucket.to_bytes(8, "little") for bucket in buckets]
    assert 1 < len(set(buckets)) < 40


def test_questions_about_values_in_a_list_hash_the_values_and_not_their_numbers() -> None:
    listed = AskedAttribute(name="site", values=SITES.labels)
    texts, numbers = np.empty(4, dtype=[("0", "O")]), np.empty(4, dtype=[("0", "<i8")])
    texts["0"], numbers["0"] = SITES.labels, range(4)
    for one, other in zip(
        questions_of("o-rr").questions, questions_of("o-rr", attribute=listed).questions, strict=True
    ):
        entropy = SeededEntropy(1)
        assert np.array_equal(one.inputs(texts, entropy=entropy), other.inputs(numbers, entropy=entropy))
